#ifndef D
#define D 128
#endif
#ifndef BN
#define BN 32
#endif
#ifndef NW
#define NW 8
#endif
#ifndef QT
#define QT 1
#endif
#define KS (D*2+16)
#define VS (BN*2+16)
typedef unsigned uu2 __attribute__((ext_vector_type(2)));
typedef unsigned uu4 __attribute__((ext_vector_type(4)));
typedef unsigned uu8 __attribute__((ext_vector_type(8)));
__shared__ __attribute__((aligned(16))) char sm[BN*KS+D*VS
#ifdef QLDS
+NW*16*QT*KS
#endif
];
#if defined(__GFX12__)
#define FR uu4
static __device__ inline f8 mma(FR a,FR b,f8 c){ return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(h8,a),__builtin_bit_cast(h8,b),c);} 
#else
#define FR uu8
static __device__ inline f8 mma(FR a,FR b,f8 c){ return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(h16,a),__builtin_bit_cast(h16,b),c);} 
#endif
static __device__ inline FR ldfr(const char*p,int h){
#if defined(__GFX12__)
  return *(const uu4*)(p+h*16);
#else
  uu4 a=*(const uu4*)p,b=*(const uu4*)(p+16); return (uu8){a[0],a[1],a[2],a[3],b[0],b[1],b[2],b[3]};
#endif
}
extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(NW*32,NW*32)))
fwd(const char*__restrict__ Q,const char*__restrict__ K,const char*__restrict__ V,char*__restrict__ O,float*__restrict__ L,int sk,float sc){
  const int t=TID, lane=t&31, w=__builtin_amdgcn_readfirstlane(t>>5), r=lane&15, h=lane>>4;
  const int q0=(__builtin_amdgcn_workgroup_id_x()*NW+w)*16*QT;
  const long hoff=(long)__builtin_amdgcn_workgroup_id_y()*sk*D*2; K+=hoff;V+=hoff;Q+=hoff;O+=hoff;L+=(long)__builtin_amdgcn_workgroup_id_y()*sk;
#ifndef QLDS
  FR q[QT][D/16];
#pragma unroll
  for(int a=0;a<QT;a++)
#pragma unroll
  for(int c=0;c<D/16;c++) q[a][c]=ldfr(Q+(long)(q0+a*16+r)*D*2+c*32,h);
#else
  char* qb=sm+BN*KS+D*VS+w*16*QT*KS;
  for(int c=lane;c<16*QT*D/8;c+=32) *(uu4*)(qb+(c/(D/8))*KS+(c%(D/8))*16)=*(const uu4*)(Q+(long)(q0+c/(D/8))*D*2+(c%(D/8))*16);
#endif
  f8 o[QT][D/16]; float m[QT],l[QT];
#pragma unroll
  for(int a=0;a<QT;a++){ m[a]=-1e30f;l[a]=0;
#pragma unroll
  for(int d=0;d<D/16;d++) o[a][d]=(f8)(0.f);} 
  constexpr int NT=NW*32;
  constexpr int KCH=BN*D/8/NT, VCH=(BN/4)*(D/4)/NT;
  for(int n0=0;n0<sk;n0+=BN){
    uu4 kr[KCH]; uu2 vr[VCH][4];
#pragma unroll
    for(int i=0;i<KCH;i++){int c=i*NT+t; kr[i]=*(const uu4*)(K+(long)(n0+c/(D/8))*D*2+(c%(D/8))*16);} 
#pragma unroll
    for(int i=0;i<VCH;i++){int c=i*NT+t; int kb=c/(D/4), db=c%(D/4);
#pragma unroll
      for(int j=0;j<4;j++) vr[i][j]=*(const uu2*)(V+(long)(n0+kb*4+j)*D*2+db*8);} 
    char* kb_=sm; char* vb_=sm+BN*KS;
    __builtin_amdgcn_s_barrier();
#pragma unroll
    for(int i=0;i<KCH;i++){int c=i*NT+t; *(uu4*)(kb_+(c/(D/8))*KS+(c%(D/8))*16)=kr[i];}
#pragma unroll
    for(int i=0;i<VCH;i++){int c=i*NT+t; int kb=c/(D/4), db=c%(D/4);
#pragma unroll
      for(int j=0;j<4;j++){ unsigned sel=(j&1)?0x07060302u:0x05040100u; int wd=j>>1;
        uu2 x={__builtin_amdgcn_perm(vr[i][1][wd],vr[i][0][wd],sel),__builtin_amdgcn_perm(vr[i][3][wd],vr[i][2][wd],sel)};
        *(uu2*)(vb_+(db*4+j)*VS+kb*8)=x; }}
    __builtin_amdgcn_fence(__ATOMIC_RELEASE,"workgroup","local"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE,"workgroup","local");
    f8 s[QT][BN/16];
#pragma unroll
    for(int b=0;b<BN/16;b++){
#pragma unroll
      for(int a=0;a<QT;a++) s[a][b]=(f8)(0.f);
#pragma unroll
      for(int c=0;c<D/16;c++){ FR kf=ldfr(kb_+(b*16+r)*KS+c*32,h);
#pragma unroll
        for(int a=0;a<QT;a++){
#ifdef QLDS
          FR qf=ldfr(qb+(a*16+r)*KS+c*32,h);
#else
          FR qf=q[a][c];
#endif
          s[a][b]=mma(kf,qf,s[a][b]);} }
    }
    FR p[QT][BN/16];
#pragma unroll
    for(int a=0;a<QT;a++){
      float mx=s[a][0][0];
#pragma unroll
      for(int b=0;b<BN/16;b++)
#pragma unroll
        for(int i=0;i<8;i++) mx=__builtin_fmaxf(mx,s[a][b][i]);
      mx*=sc;
      if(__builtin_amdgcn_ballot_w32(mx>m[a]+8.f)){
        float ot=__builtin_bit_cast(float,__builtin_amdgcn_permlanex16(0,__builtin_bit_cast(int,mx),0x76543210,0xfedcba98,true,false));
        float mn=__builtin_fmaxf(__builtin_fmaxf(mx,ot),m[a]); float al=__builtin_amdgcn_exp2f(m[a]-mn); m[a]=mn; l[a]*=al;
#pragma unroll
        for(int d=0;d<D/16;d++) o[a][d]*=al;
      }
      float sum=0;
#pragma unroll
      for(int b=0;b<BN/16;b++){ unsigned own[4];
#pragma unroll
        for(int i=0;i<8;i+=2){ float e0=__builtin_amdgcn_exp2f(__builtin_fmaf(s[a][b][i],sc,-m[a])),e1=__builtin_amdgcn_exp2f(__builtin_fmaf(s[a][b][i+1],sc,-m[a])); sum+=e0+e1;
          own[i/2]=__builtin_bit_cast(unsigned,__builtin_amdgcn_cvt_pkrtz(e0,e1)); }
#if defined(__GFX12__)
        p[a][b]=(uu4){own[0],own[1],own[2],own[3]};
#else
        unsigned oth[4];
#pragma unroll
        for(int i=0;i<4;i++) oth[i]=__builtin_amdgcn_permlanex16(own[i],own[i],0x76543210,0xfedcba98,true,false);
#pragma unroll
        for(int i=0;i<4;i++){ p[a][b][i]=h?oth[i]:own[i]; p[a][b][4+i]=h?own[i]:oth[i]; }
#endif
      }
      l[a]+=sum;
    }
#pragma unroll
    for(int d=0;d<D/16;d++)
#pragma unroll
      for(int k=0;k<BN/16;k++){ FR vf=ldfr(vb_+(d*16+r)*VS+k*32,h);
#pragma unroll
        for(int a=0;a<QT;a++) o[a][d]=mma(vf,p[a][k],o[a][d]); }
  }
#pragma unroll
  for(int a=0;a<QT;a++){
    float ot=__builtin_bit_cast(float,__builtin_amdgcn_permlanex16(0,__builtin_bit_cast(int,l[a]),0x76543210,0xfedcba98,true,false)); float inv=__builtin_amdgcn_rcpf(l[a]+ot);
    if(h==0) L[q0+a*16+r]=m[a]+__builtin_amdgcn_logf(l[a]+ot);
#pragma unroll
    for(int d=0;d<D/16;d++){ unsigned x[4];
#pragma unroll
      for(int i=0;i<8;i+=2) x[i/2]=__builtin_bit_cast(unsigned,__builtin_amdgcn_cvt_pkrtz(o[a][d][i]*inv,o[a][d][i+1]*inv));
      *(uu4*)(O+(long)(q0+a*16+r)*D*2+d*32+h*16)=(uu4){x[0],x[1],x[2],x[3]}; } // layout of store not exact for gfx11; resource estimate only
  }
}

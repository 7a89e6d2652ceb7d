#ifndef D
#define D 128
#endif
#ifndef BN
#define BN 64
#endif
#ifndef NW
#define NW 8
#endif
#ifndef WEU
#define WEU 2
#endif
#ifndef QT
#define QT 1   // 32-row q tiles per wave
#endif
#define KS (D*2+16)
#define VS (BN*2+16)
typedef unsigned uu2 __attribute__((ext_vector_type(2)));
typedef unsigned uu4 __attribute__((ext_vector_type(4)));
__shared__ __attribute__((aligned(16))) char sm[(BN*KS+D*VS)];
static __device__ inline f16 mma(s4 a,s4 b,f16 c){
#if defined(__gfx908__)
  s2 a0={a[0],a[1]},a1={a[2],a[3]},b0={b[0],b[1]},b1={b[2],b[3]};
  c=__builtin_amdgcn_mfma_f32_32x32x4bf16(a0,b0,c,0,0,0);
  return __builtin_amdgcn_mfma_f32_32x32x4bf16(a1,b1,c,0,0,0);
#else
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a,b,c,0,0,0);
#endif
}
static __device__ inline s4 lo(uu4 v){ uu2 x={v[0],v[1]}; return __builtin_bit_cast(s4,x);} 
static __device__ inline s4 hi(uu4 v){ uu2 x={v[2],v[3]}; return __builtin_bit_cast(s4,x);} 
static __device__ inline unsigned pk(float a,float b){ return __builtin_amdgcn_perm(__builtin_bit_cast(unsigned,b),__builtin_bit_cast(unsigned,a),0x07060302);} 
extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(NW*64,NW*64),amdgpu_waves_per_eu(WEU,WEU)))
fwd(const char*__restrict__ Q,const char*__restrict__ K,const char*__restrict__ V,short*__restrict__ O,float*__restrict__ L,int sk,float sc){
  const int t=TID, lane=t&63, w=__builtin_amdgcn_readfirstlane(t>>6), r=lane&31, h=lane>>5;
  const int q0=(__builtin_amdgcn_workgroup_id_x()*NW+w)*32*QT;
  const long hoff=(long)__builtin_amdgcn_workgroup_id_y()*sk*D*2;
  K+=hoff;V+=hoff;Q+=hoff;L+=(long)__builtin_amdgcn_workgroup_id_y()*sk;
  uu4 q[QT][D/16];
#pragma unroll
  for(int a=0;a<QT;a++)
#pragma unroll
  for(int c=0;c<D/16;c++) q[a][c]=*(const uu4*)(Q+(long)(q0+a*32+r)*D*2+c*32+h*16);
  f16 o[QT][D/32];
#pragma unroll
  for(int a=0;a<QT;a++)
#pragma unroll
  for(int d=0;d<D/32;d++) o[a][d]=(f16)(0.f);
  float m[QT],l[QT]; for(int a=0;a<QT;a++){m[a]=-1e30f;l[a]=0;}
  constexpr int NT=NW*64;
  constexpr int KCH=BN*D*2/16/NT; // 16B chunks per thread for K
  constexpr int VCH=(BN/4)*(D/4)/NT>0?(BN/4)*(D/4)/NT:1; // 4x4 blocks per thread
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
      for(int j=0;j<4;j++){ // d = db*4+j : gather 4 keys
        unsigned sel=(j&1)?0x07060302u:0x05040100u; int wd=j>>1;
        uu2 x={__builtin_amdgcn_perm(vr[i][1][wd],vr[i][0][wd],sel),__builtin_amdgcn_perm(vr[i][3][wd],vr[i][2][wd],sel)};
        *(uu2*)(vb_+(db*4+j)*VS+kb*8)=x; }}
    __builtin_amdgcn_fence(__ATOMIC_RELEASE,"workgroup","local"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE,"workgroup","local");
    f16 s[QT][BN/32];
#pragma unroll
    for(int b=0;b<BN/32;b++){
#pragma unroll
      for(int a=0;a<QT;a++) s[a][b]=(f16)(0.f);
#pragma unroll
      for(int c=0;c<D/16;c++){ uu4 kf=*(uu4*)(kb_+(b*32+r)*KS+c*32+h*16);
#pragma unroll
        for(int a=0;a<QT;a++){ s[a][b]=mma(lo(kf),lo(q[a][c]),s[a][b]); s[a][b]=mma(hi(kf),hi(q[a][c]),s[a][b]);} }
    }
    uu2 p[QT][BN/8];
#pragma unroll
    for(int a=0;a<QT;a++){
      float mx=s[a][0][0];
#pragma unroll
      for(int b=0;b<BN/32;b++)
#pragma unroll
        for(int i=0;i<16;i++) mx=__builtin_fmaxf(mx,s[a][b][i]);
      mx*=sc;
      if(__builtin_amdgcn_ballot_w64(mx>m[a]+8.f)){
        float ot=__builtin_bit_cast(float,__builtin_amdgcn_ds_bpermute((lane^32)*4,__builtin_bit_cast(int,mx)));
        float mn=__builtin_fmaxf(__builtin_fmaxf(mx,ot),m[a]); float al=__builtin_amdgcn_exp2f(m[a]-mn); m[a]=mn; l[a]*=al;
#pragma unroll
        for(int d=0;d<D/32;d++) o[a][d]*=al;
      }
      float sum=0;
#pragma unroll
      for(int b=0;b<BN/32;b++)
#pragma unroll
        for(int i=0;i<16;i+=4){ float e[4];
#pragma unroll
          for(int j=0;j<4;j++){ e[j]=__builtin_amdgcn_exp2f(__builtin_fmaf(s[a][b][i+j],sc,-m[a])); sum+=e[j]; }
          p[a][b*4+i/4]=(uu2){pk(e[0],e[1]),pk(e[2],e[3])}; }
      l[a]+=sum;
    }
#pragma unroll
    for(int d=0;d<D/32;d++)
#pragma unroll
      for(int k=0;k<BN/8;k++){ uu2 vf=*(uu2*)(vb_+(d*32+r)*VS+k*16+h*8); 
#pragma unroll
        for(int a=0;a<QT;a++) o[a][d]=mma(__builtin_bit_cast(s4,vf),__builtin_bit_cast(s4,p[a][k]),o[a][d]); }
  }
#pragma unroll
  for(int a=0;a<QT;a++){
    float ot=__builtin_bit_cast(float,__builtin_amdgcn_ds_bpermute((lane^32)*4,__builtin_bit_cast(int,l[a]))); float inv=__builtin_amdgcn_rcpf(l[a]+ot);
    if(h==0) L[q0+a*32+r]=m[a]+__builtin_amdgcn_logf(l[a]+ot);
#pragma unroll
    for(int d=0;d<D/32;d++)
#pragma unroll
      for(int i=0;i<16;i+=4){ uu2 x={pk(o[a][d][i]*inv,o[a][d][i+1]*inv),pk(o[a][d][i+2]*inv,o[a][d][i+3]*inv)};
        *(uu2*)((char*)O+hoff+(long)(q0+a*32+r)*D*2+(d*32+8*(i/4)+4*h)*2)=x; }
  }
}

"""rapt.torch.enable() beside torch's distributed wrappers."""

import pytest
import rapt.torch
import torch
import torch.distributed as dist


@pytest.fixture
def one_process(tmp_path):
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = (y.reshape(2, 10, 4, 8).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def test_mixed_precision_of_fsdp(one_process):
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard"):
        pytest.skip("this torch has no fully_shard")
    mesh = dist.device_mesh.init_device_mesh("cpu", (1,))

    def gradient(enabled):
        torch.manual_seed(1)
        model = Block()
        fsdp.fully_shard(model, mesh=mesh, mp_policy=fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16))
        x = torch.randn(2, 10, 32)
        if not enabled:
            model(x).float().square().sum().backward()
        else:
            with rapt.torch.enabled():
                out = model(x)
                out.float().square().sum().backward()
                assert out.dtype == torch.bfloat16
                assert rapt.torch.report().taken == {"forward": 1, "backward": 1}
        return model.qkv.weight.grad.full_tensor()

    expected = gradient(False)
    torch.testing.assert_close(gradient(True), expected, rtol=3e-2, atol=3e-2 * expected.abs().max().item())


@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="this torch does not give its kernels out")
def test_tensors_that_are_distributed(one_process):
    """torch computes them by the operators that math consists of."""
    tensor = pytest.importorskip("torch.distributed.tensor")
    mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
    values = [torch.randn(2, 4, 9, n) for n in (8, 8, 16)]
    inputs = [tensor.distribute_tensor(x, mesh, [tensor.Shard(1)]).requires_grad_() for x in values]
    expected = torch.nn.functional.scaled_dot_product_attention(*values)
    with rapt.torch.enabled():
        out = torch.nn.functional.scaled_dot_product_attention(*inputs)
        out.sum().backward()
        assert "DTensor" in str(rapt.torch.report())
    torch.testing.assert_close(out.full_tensor(), expected, rtol=1e-5, atol=1e-5)
    assert all(isinstance(x.grad, tensor.DTensor) for x in inputs)

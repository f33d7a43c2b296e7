"""The pretended machine: what CUDA lets meet meets, the rest is refused, nothing of it is left."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from grader.dry_run import ELSEWHERE, Crossing, heard
from grader.dry_run.mistakes import SENTENCES

X, IDS = torch.arange(12.0).reshape(3, 4), torch.tensor([2, 0])
ROW, ZERO = torch.arange(4.0), torch.tensor(0.0)


def here(file):
    return Path(file).name if file == __file__ else ""


def there(made, *args):
    crossing = Crossing(here)
    return crossing.call(made, args, {}), crossing.trip.mistakes


def put_into_a_slice(x):
    made = torch.empty_like(x)
    made[:] = torch.ones(4)
    return made


def under(x):
    with torch.device(x.device):
        return x + torch.ones(4) + torch.arange(4)


ALLOWED = {
    "a scalar of the CPU": lambda x: x + torch.tensor(1.0),
    "a scalar first": lambda x: torch.tensor(1.0) / (x + 1),
    "where": lambda x: torch.where(x > 3, torch.tensor(1.0), torch.tensor(2.0)) + x,
    "masked_fill": lambda x: x.masked_fill(x > 3, torch.tensor(1.0)),
    "an index of the CPU": lambda x: x[torch.tensor([0, 1])],
    "a mask of the CPU as an index": lambda x: x[torch.tensor([True, False, True])],
    "a scalar put at an index": lambda x: x.clone().index_put_((torch.tensor([0]),), ZERO),
    "copied": lambda x: torch.empty_like(x).copy_(torch.ones(3, 4)),
    "put into a slice": lambda x: put_into_a_slice(x),  # noqa: PLW0108
    "shapes of the CPU": lambda x: x.view_as(torch.ones(4, 3)),
    "numbers": lambda x: x * float(x.sum()) * int(x.max().item()),
    "like": lambda x: torch.zeros_like(x) + x.new_ones(4) + torch.ones(4).to(x),
    "under a device": lambda x: under(x),  # noqa: PLW0108
    "one_hot": lambda x: F.one_hot(x.long() % 3, 3),
    "vmap": torch.func.vmap(lambda row: row * torch.ones(4, device=row.device)),
}
REFUSED = {
    "added": lambda x: x + torch.ones(4),
    "added in place": lambda x: torch.tensor(0.0).add_(x.sum()),
    "multiplied": lambda x: x @ torch.ones(4),
    "where": lambda x: torch.where(x > 3, torch.ones(4), x),
    "a mask to fill": lambda x: x.masked_fill(torch.tensor(True), 0),
    "put together": lambda x: torch.cat([x, torch.ones(1, 4)]),
    "stacked without dimensions": lambda x: torch.stack([x.sum(), torch.tensor(1.0)]),
    "clamped": lambda x: x.clamp(torch.tensor(1.0), torch.tensor(2.0)),
    "two scalars": lambda x: torch.lerp(x, torch.tensor(1.0), torch.tensor(2.0)),
    "looked up": lambda x: F.embedding(torch.tensor([0]), x),
    "gathered": lambda x: x.gather(1, torch.zeros(3, 1, dtype=torch.long)),
    "an index of the GPU": lambda x: torch.ones(9)[x.long()[0]],
    "values of the CPU put at an index": lambda x: x.clone().index_put_((IDS,), torch.ones(2, 4)),
    "from another matrix": lambda x: F.linear(x, torch.ones(2, 4).t().contiguous().t()),
    "the first GPU": lambda x: x + torch.ones(4, device="cuda"),
    "equal": lambda x: torch.equal(x, torch.ones(3, 4)),
}


@pytest.mark.parametrize("how", ALLOWED)
def test_what_cuda_lets_meet(how):
    out, mistakes = there(ALLOWED[how], X)
    assert [one.kind for one in mistakes if one.kind != "waits"] == []
    assert out.kit_place == (ELSEWHERE, ELSEWHERE)
    assert torch.equal(out, ALLOWED[how](X))


@pytest.mark.parametrize("how", REFUSED)
def test_what_cuda_refuses(how):
    crossing = Crossing(here)
    with pytest.raises(RuntimeError, match="same device"):
        crossing.call(REFUSED[how], (X,), {})
    assert len(crossing.trip.mistakes) == 1


def of_cuda(dtype):
    return getattr(torch.cuda, f"{dtype}Tensor")


SAYS = {
    "its type": lambda x: x.type() == "torch.cuda.FloatTensor",
    "its type in another dtype": lambda x: x.long().type() == "torch.cuda.LongTensor",
    "its kind": lambda x: isinstance(x, of_cuda("Float")),
    "not another kind": lambda x: not isinstance(x, torch.FloatTensor | of_cuda("Long")),
    "the kind of the CPU's": lambda _: isinstance(torch.ones(1), torch.FloatTensor),
    "the type of the CPU's": lambda x: x.cpu().type() == "torch.FloatTensor",
    "a kind makes tensors": lambda _: torch.LongTensor([1, 2]).tolist() == [1, 2],
    "made the CPU's": lambda x: x.type("torch.DoubleTensor").device.type == "cpu",
    "where it is, in another kind": lambda x: x.type(of_cuda("Half")).device == x.device,
    "where it is, in another dtype": lambda x: x.type(torch.float64).device == x.device,
    "its bytes": lambda x: str(x.untyped_storage().device) == ELSEWHERE,
    "its storage": lambda x: x.storage().is_cuda and len(x.storage()) == 12,
    "one memory": lambda x: x.untyped_storage().data_ptr() == x[0].untyped_storage().data_ptr(),
    "a kind of storage": lambda x: isinstance(x.untyped_storage(), torch.UntypedStorage),
}


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("how", SAYS)
def test_it_says_what_a_tensor_of_cuda_says(how):
    says, _ = there(SAYS[how], X)
    assert says is True


def test_the_old_kinds_are_torchs_own_again():
    there(lambda x: x, X)
    assert isinstance(X, torch.FloatTensor)
    assert not isinstance(X, of_cuda("Float"))


SHAPES = {
    "matrix times vector": lambda x: x @ x[0],
    "vector times matrix": lambda x: x[:, 0] @ x,
    "squeeze_": lambda x: x[:1].clone().squeeze_(0),
    "t_": lambda x: x.clone().t_(),
    "unsqueeze_": lambda x: x.clone().unsqueeze_(1),
    "swapped": lambda x: x.mT.contiguous().view(2, 6),
    "unique": lambda x: torch.unique(x > 3),
    "topk": lambda x: x.topk(2).values,
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
}


@pytest.mark.parametrize("how", SHAPES)
def test_shapes_and_values_are_those_of_the_cpu(how):
    out, _ = there(SHAPES[how], X)
    assert torch.equal(out, SHAPES[how](X))


def test_gradients_come_back_to_the_cpu():
    leaf = X.clone().requires_grad_()
    out, _ = there(lambda x: (x * x).sum().to("cpu"), leaf)
    out.backward()
    assert type(leaf.grad) is torch.Tensor
    assert torch.equal(leaf.grad, 2 * X)


def test_a_backward_pass_of_ones_own_is_on_the_machine_as_well():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, slope):
            return slope * torch.full((4,), 2.0, device=slope.device)

    crossing, leaf = Crossing(here), X.clone().requires_grad_()
    with crossing.backward_too():
        out = crossing.call(lambda x: Twice.apply(x).sum(), (leaf,), {})
        out.backward()
    assert torch.equal(leaf.grad, torch.full((3, 4), 2.0))
    assert crossing.trip.mistakes == []


class Layer(nn.Module):
    """A layer, a buffer, and a plain tensor."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 2)
        self.register_buffer("kept", torch.ones(4))
        self.plain = torch.ones(4)

    def forward(self, x):
        """Use them."""
        return self.inner(x * self.kept)


def test_a_module_is_moved_and_the_callers_own_stays():
    layer = Layer()
    out, mistakes = there(layer, X)
    assert torch.equal(out, layer(X))
    assert mistakes == []
    assert layer.inner.weight.device.type == "cpu"
    assert type(layer.inner.weight) is nn.Parameter


def test_a_plain_tensor_of_a_module_stays_behind():
    class Forgets(Layer):
        def forward(self, x):
            return self.inner(x * self.plain)

    crossing = Crossing(here)
    with pytest.raises(RuntimeError):
        crossing.call(Forgets(), (X,), {})
    assert crossing.trip.mistakes[0].kind == "attribute"
    assert "`self.plain` is a plain tensor" in crossing.trip.mistakes[0].sentence


OPTIMISERS = {
    name: getattr(torch.optim, name) for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_model_is_trained_there_and_comes_home(name):
    def train(model, x):
        optimiser = OPTIMISERS[name](model.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            loss = (model(x) ** 2).mean()
            losses.append(loss.item())
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        return losses

    layer = Layer()
    twin = copy.deepcopy(layer)
    losses, mistakes = there(train, layer, X)
    assert losses == pytest.approx(train(twin, X))
    assert {one.kind for one in mistakes} == {"waits"}
    torch.testing.assert_close(layer.state_dict(), twin.state_dict())


def test_data_is_replaced_without_a_crash():
    def step(model):
        for weight in model.parameters():
            weight.data = weight.data * 2
            weight.data -= 1
        return model.inner.bias

    layer = Layer()
    want = layer.inner.bias.detach() * 2 - 1
    out, mistakes = there(step, layer)
    assert mistakes == []
    assert torch.equal(out, want)


def test_generators_say_where_they_are():
    def draw(generator):
        made = torch.Generator(generator.device).manual_seed(0)
        torch.randn(2, generator=made, device=made.device)
        return torch.randn(3, generator=generator, device=generator.device)

    out, mistakes = there(draw, torch.Generator().manual_seed(1))
    assert mistakes == []
    assert torch.equal(out, torch.randn(3, generator=torch.Generator().manual_seed(1)))
    crossing = Crossing(here)
    with pytest.raises(RuntimeError, match="generator"):
        crossing.call(lambda g: torch.randn(3, generator=g), (torch.Generator(),), {})
    assert crossing.trip.mistakes[0].kind == "generator"


def test_nothing_of_it_is_left():
    def everything(x):
        torch.set_default_device(x.device)
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 2
        torch.cuda.synchronize()
        return x

    before = torch.cuda.is_available(), torch.Generator, torch.__future__
    _, mistakes = there(everything, X)
    assert [one.kind for one in mistakes] == ["default"]
    assert (torch.cuda.is_available(), torch.Generator, torch.__future__) == before
    assert torch.ones(1).device.type == "cpu"
    assert torch._C._len_torch_function_stack() == 0
    assert torch._C._len_torch_dispatch_stack() == 0
    with pytest.raises(ZeroDivisionError):
        there(lambda x: x / (1 // 0), X)
    assert torch._C._len_torch_function_stack() == 0


def test_what_is_printed_of_a_tensor_says_where_it_is():
    out, _ = there(lambda x: [f"{x!r}", f"{x.sum():.1f}", str(x.device)], X)
    assert "device='cuda:1'" in out[0]
    assert out[1:] == ["66.0", "cuda:1"]


GARBAGE: list[object] = [
    None, 3, "made", {}, [3], [None], [{"kind": 3}], [{"kind": "nothing known"}], [[]],
    [{"kind": "made", "what": 3, "line": "x", "more": None, "unknown": "y"}],
    [{"kind": "made", "what": "a\x1b[31mb" * 500, "line": 10**30}] * 50,
]  # fmt: skip


@pytest.mark.parametrize("said", GARBAGE, ids=repr)
def test_what_a_worker_claims_is_read_with_care(said):
    for mistake in heard(said):
        assert mistake.kind in SENTENCES
        assert "\x1b" not in mistake.sentence
        assert len(mistake.sentence) < 2000
    assert len(heard(said)) <= 20

"""What the lines of programs are made of: expressions of known and of unknown kinds, with holes.

``<A>`` is an array, ``<T>`` a tensor, ``<U>`` a value that the code says nothing about, ``<R>`` a list of arrays,
``<V>`` a list of tensors, ``<L>`` a list of numbers, ``<N>`` a number, ``<I>`` an integer, ``<M>`` a mask, ``<D>`` a
device, ``<S>`` a dtype of torch, ``<Y>`` one of NumPy, and ``<C>`` a cast.
"""

from __future__ import annotations

LEAVES = {
    "A": ("np.zeros(3)", "np.ones((2, 3), dtype=np.float32)", "np.arange(4)", "np.array([1.5, -0.0])"),
    "T": ("torch.zeros(3)", "torch.ones(2, 3)", "torch.arange(4)", "torch.randn(2, 3)"),
    "U": ("np.asarray([0.5, 1])",),
    "R": ("[np.zeros(3), np.ones(3)]", "[np.ones((2, 3), dtype=np.float32)]"),
    "V": ("[torch.zeros(3), torch.ones(3)]", "[torch.ones(2, 3)]"),
    "L": ("[1, 2]", "[0.5]", "[[1.0, 2.0], [3.0, 4.0]]", "[]", "(1, 2)", "[True, False]"),
    "N": ("1", "0.5", "-1", "2.0", "float('-inf')"),
    "I": ("1", "2", "3", "4"),
    "M": ("torch.tensor([True, False, True])", "torch.ones(2, 3) > 0"),
    "D": ("'cpu'", "device", "torch.device('cpu')"),
    "S": ("torch.float32", "torch.float64", "torch.int64", "torch.bool", "torch.float16", "torch.int32", "torch.uint8"),
    "Y": ("np.float32", "np.float64", "np.int64", "bool", "int", "float", "np.uint8", "'float32'", "np.int32"),
    "C": ("float", "long", "double", "int", "bool", "half"),
}

EXPRESSIONS = {
    "A": (
        *(
            "np.array(<U>)",
            "np.asarray(<U>)",
            "np.array(<L>)",
            "np.array([<N>, <N>])",
            "np.array(<N>)",
            "np.array(<I>)",
        ),
        *("np.array([<A>, <A>])", "np.stack([<A>, <A>])", "np.concatenate([<A>, <A>])", "np.array(<U>, dtype=<Y>)"),
        *("np.asarray(<U>, dtype=<Y>)", "np.array(<A>)", "np.asarray(<A>)", "np.vstack([<A>, <A>])", "np.stack(<R>)"),
        *(
            "<A>[None]",
            "<A>[:2]",
            "<A>[0]",
            "<A>[..., 0]",
            "<A>[:, 0]",
            "<A>[0, :]",
            "<A>[...]",
            "<A>[::-1]",
            "<A>[-1]",
        ),
        *("<A>[np.newaxis, :]", "<A>[[0, 1]]", "<A>[<A> > 0]", "<A>[<A>.argmax()]", "<A>[:, None]", "<A>[0, 0]"),
        *("<A>.astype(<Y>)", "<A>.copy()", "<A>.ravel()", "<A>.reshape(-1)", "<A>.reshape(1, -1)", "<A>.squeeze()"),
        *(
            "<A>.flatten()",
            "<A>.transpose()",
            "<A>.T",
            "<A>.sum(axis=-1)",
            "<A>.sum(axis=0, keepdims=True)",
            "<A>.sum()",
        ),
        *("<A>.max()", "<A>.argmax()", "<A>.argmax(axis=-1)", "<A>.argmin(-1)", "<A>.mean(0)", "<A>.max(axis=-1)"),
        *("<A>.cumsum()", "<A>.min(0)", "<A>.any(axis=-1)", "<A>.clip(0, 1)", "<A>.round()", "<A>.repeat(2)"),
        *(
            "<A> + 1",
            "<A> / 255.0",
            "<A> / 2",
            "<A> > 0",
            "-<A>",
            "<A> * <N>",
            "<A> @ <A>.T",
            "<A> - <A>",
            "~(<A> > 0)",
        ),
        *(
            "np.clip(<A>, 0, 1)",
            "np.where(<A> > 0, <A>, 0)",
            "np.zeros(<A>.shape)",
            "np.zeros_like(<A>)",
            "np.abs(<A>)",
        ),
        *("np.expand_dims(<A>, 0)", "np.squeeze(<A>)", "np.take(<A>, 0)", "np.argsort(<A>)", "np.cumsum(<A>)"),
        *("np.atleast_1d(<A>)", "np.atleast_2d(<A>)", "np.ravel(<A>)", "np.sum(<A>)", "np.mean(<A>, axis=0)"),
        *("np.argmax(<A>)", "np.argmax(<A>, axis=-1)", "np.max(<A>)", "np.broadcast_to(<A>, (2, 3))", "np.flip(<A>)"),
        *("np.ones(<I>)", "np.full((<I>,), <N>)", "np.arange(<I>)", "np.eye(<I>)[<I>]", "np.linspace(0, 1, <I>)"),
        *("np.matmul(<A>, <A>.T)", "np.dot(<A>, <A>)", "np.minimum(<A>, <N>)", "np.sign(<A>)", "np.roll(<A>, 1)"),
        *(
            "<T>.numpy()",
            "<T>.detach().cpu().numpy()",
            "<T>.cpu().numpy()",
            "np.array(<T>.tolist())",
            "np.float32(<N>)",
        ),
    ),
    "T": (
        *(
            "torch.as_tensor(<A>)",
            "torch.tensor(<L>)",
            "torch.from_numpy(<A>)",
            "torch.tensor(<A>)",
            "torch.as_tensor(<U>)",
        ),
        *("torch.as_tensor(<U>, dtype=<S>)", "torch.zeros(<I>, 3)", "torch.zeros_like(<T>)", "torch.ones(<T>.shape)"),
        *(
            "torch.stack([<T>, <T>])",
            "torch.cat([<T>, <T>])",
            "torch.stack(<V>)",
            "torch.full((2,), <N>)",
            "<T>.float()",
        ),
        *(
            "<T>.argmax(-1)",
            "<T>.argmax()",
            "<T>.sum()",
            "<T>.mean(0)",
            "<T>.max()",
            "<T>.sum(-1)",
            "<T>.max(-1).values",
        ),
        *(
            "<T> + <T>",
            "<T> * 2",
            "<T> * <N>",
            "-<T>",
            "<T> > 0",
            "<T>[0]",
            "<T>[:1]",
            "<T>[..., 0]",
            "<T>[None]",
            "<T>[:, 0]",
        ),
        *("<T>.clone()", "<T>.detach()", "<T>.view(-1)", "<T>.reshape(-1)", "<T>.unsqueeze(0)", "<T>.squeeze()"),
        *("<T>.flatten()", "<T>.t()", "<T>.long()", "<T>.double()", "<T>.bool()", "<T>.clamp(0, 1)", "<T>.abs()"),
        *(
            "torch.where(<T> > 0, <T>, <T>)",
            "torch.relu(<T>)",
            "torch.arange(<I>)",
            "torch.randperm(<I>)",
            "<T>.to(<S>)",
        ),
        *(
            "<T>.softmax(-1)",
            "<T>.contiguous()",
            "torch.eye(<I>)",
            "<T>.expand(2, -1)",
            "<T>[<T> > 0]",
            "<T>.nonzero()",
        ),
        *("torch.tensor(<N>)", "<T>.to(<D>)", "torch.randn(<I>, 3)", "<T>.int()", "<T>.half()", "<T>.sort(-1)[0]"),
        *("torch.squeeze(<T>)", "torch.flatten(<T>)", "torch.sum(<T>)", "torch.argmax(<T>, -1)", "<T>.topk(1)[1]"),
    ),
    "U": (
        *(
            "<U>[0]",
            "<U>[None]",
            "<U>[:2]",
            "<U>[..., 0]",
            "<U>[:, None]",
            "<U>[1:]",
            "<U>[0, :]",
            "<U>[-1]",
            "<U>[::-1]",
        ),
        *("<U> / 255.0", "<U> * 2", "<U> + <U>", "<U> > 0", "-<U>", "<U> + 1", "<U>.reshape(-1)", "<U>.ravel()"),
        *("<U>.copy()", "<U>.squeeze()", "<U>.flatten()", "<U>.astype(np.float32)", "<U>.transpose()", "<U>.numpy()"),
        *(
            "<U>.shape",
            "<U>.shape[1:]",
            "<U>.tolist()",
            "<U>['obs']",
            "<U>.T",
            "<U>.mean()",
            "<U>.sum(-1)",
            "list(<U>)",
        ),
        *(
            "tuple(<U>)",
            "<U>.cpu()",
            "<U>.detach()",
            "<U>.float()",
            "<U>.argmax()",
            "<U>.max()",
            "<U>.size()",
            "len(<U>)",
        ),
        *("<U> if <U> is not None else <U>", "<U>[np.newaxis, :]", "<U>[:, 0]", "<U>.reshape(1, -1)", "<U>.clone()"),
        *("np.array(<U>)", "[<U>, <U>]", "[v for v in <U>]", "sum(<U>)", "<U>.view(-1)", "<U>.item()", "<U>[0][0]"),
        *("<A>", "<T>", "[<U>]", "np.asarray(<U>)", "np.squeeze(<U>)", "np.clip(<U>, 0, 1)", "np.stack([<U>, <U>])"),
    ),
    "R": (
        *("[<A>, <A>]", "[<A>]", "(<A>, <A>)", "[<A> for _ in range(<I>)]", "list(<A>)", "[v for v in <A>]"),
        *(
            "[np.asarray(v) for v in <U>]",
            "[v.copy() for v in <R>]",
            "[v / 2 for v in <R>]",
            "<R> + <R>",
            "[np.asarray(v, dtype=<Y>) for v in <U>]",
        ),
        *("[np.asarray(v, dtype=<Y>).reshape(-1) for v in <R>]", "[v[0] for v in <R>]", "<R>[:2]", "[[<A>], [<A>]]"),
        *("[np.array(v) for v in <L>]", "[v.astype(<Y>) for v in <R>]", "[<A>.astype(<Y>), <A>.astype(<Y>)]"),
        *(
            "[v.reshape(-1) for v in <R>]",
            "[v.sum(axis=-1) for v in <R>]",
            "[v[None] for v in <R>]",
            "[<T>.numpy() for _ in range(2)]",
        ),
    ),
    "V": (
        *("[<T>, <T>]", "[<T>]", "(<T>, <T>)", "[<T> for _ in range(<I>)]", "list(<T>)", "[v for v in <T>]"),
        *("[v * 2 for v in <V>]", "[v[0] for v in <V>]", "<V> + <V>", "[torch.as_tensor(v) for v in <U>]", "list(<V>)"),
    ),
    "L": (
        *(
            "[<N>, <N>]",
            "[<I>, <I>]",
            "[float(v) for v in <U>]",
            "<A>.tolist()",
            "<T>.tolist()",
            "[len(<V>)]",
            "[[v] for v in <L>]",
        ),
        *("[0.0 if v else 1.0 for v in <U>]", "[<N> for _ in range(<I>)]", "[i for i in range(<I>)]", "(<N>, <N>)"),
        *(
            "[int(v) for v in <U>]",
            "<L> + <L>",
            "<L>[:1]",
            "[[0.0] if v else [1.0] for v in <U>]",
            "[<N> * v for v in <L>]",
        ),
    ),
    "N": ("<I>", "float(<I>)", "-<I>", "<N> + <I>", "float(<A>.sum())", "<T>.sum().item()"),
    "I": ("len(<R>)", "<A>.size", "<T>.shape[0]", "<A>.ndim", "int(<A>.size)", "<I> + 1", "<T>.dim()"),
    "M": ("<T> > 0", "<T> == <T>", "~<M>", "<T>.bool()", "torch.as_tensor(<U>, dtype=torch.bool)", "<T> > <T>"),
    "D": ("<T>.device", "torch.device(device)", "'cuda' if torch.cuda.is_available() else 'cpu'"),
    "S": ("<T>.dtype", "<S>"),
    "Y": ("<Y>",),
    "C": ("<C>",),
}

# Statements around the one that a rule is about.
NOISE = (
    "<a> = <A>",
    "<a> = <A>",
    "<t> = <T>",
    "<t> = <T>",
    "<u> = <U>",
    "<u> = <U>",
    "<r> = <R>",
    "<v> = <V>",
    "<l> = <L>",
    "<n> = <N>",
    "<m> = <M>",
    "<i> = <I>",
    "<t> = <T> if <I> > 2 else <T>",
    "<a> = <A> if <I> > 2 else <A>",
    "<a> += 1",
    "print(<N>)",
)

CREATORS = (
    *(
        "torch.zeros(<I>, 2)",
        "torch.ones(<I>)",
        "torch.empty(<I>, 2).fill_(1)",
        "torch.eye(<I>)",
        "torch.full((<I>, 2), <N>)",
    ),
    *("torch.arange(<I>)", "torch.arange(<I>, <I> + 8)", "torch.arange(0, <N>, 0.5)", "torch.zeros_like(<T>)"),
    *("torch.ones_like(<T>)", "torch.full_like(<T>, <N>)", "torch.full((2,), 3)", "torch.zeros(<T>.shape)"),
    *("torch.ones(<T>.size())", "torch.zeros((<I>, 2), dtype=<S>)", "torch.arange(-8, 8, 3)", "torch.full((2,), 1.5)"),
    *("torch.zeros(*<T>.shape)", "torch.arange(<T>.shape[0])", "torch.full_like(<T>, 1)", "torch.arange(<N>)"),
    *(
        "torch.ones(<A>.shape)",
        "torch.arange(<I>, 0, -1)",
        "torch.full((2,), True)",
        "torch.eye(2, <I>)",
        "torch.arange(<X>, <X> + 20)",
    ),
    *(
        "torch.full((2,), -0.0)",
        "torch.ones_like(<T>, dtype=<S>)",
        "torch.arange(<I>, dtype=<S>)",
        "torch.full((2,), <N>, dtype=<S>)",
    ),
)
_LEGACY = (
    "FloatTensor",
    "FloatTensor",
    "LongTensor",
    "Tensor",
    "DoubleTensor",
    "IntTensor",
    "BoolTensor",
    "ByteTensor",
)
_MOVES = (
    "",
    "",
    ".to(<D>)",
    ".to(<D>)",
    ".unsqueeze(0).to(<D>)",
    "[None].to(<D>)",
    ".to(device=<D>)",
    ".reshape(-1).to(<D>)",
)
_STEPS = (
    *(
        ".<C>()",
        ".to(<D>)",
        ".<C>().to(<D>)",
        ".to(<D>).<C>()",
        ".to(<S>)",
        ".to(<D>).to(<S>)",
        ".unsqueeze(0).to(<D>)",
    ),
    *(
        "[None].<C>()",
        ".to(<D>, <S>)",
        ".to(<T>.device)",
        ".type(<S>)",
        ".cpu()",
        ".<C>().<C>()",
        ".to(<T>)",
        ".type_as(<T>)",
    ),
)
_WIDE = (
    *("torch.from_numpy(<A>.astype(<Y>))", "torch.zeros(3, dtype=torch.float64)", "<T>.double()", "<T>.clone()", "<T>"),
    *(
        "torch.as_tensor(<A>)",
        "torch.from_numpy(np.zeros(4))",
        "torch.from_numpy(np.arange(3) * <N>)",
        "<U>",
        "<T>.detach()",
    ),
)
_INDICES = (
    "<T>",
    "<M>",
    "<L>",
    "torch.randperm(<I>)",
    "<A>",
    "torch.arange(<I>)",
    "[0, 1]",
    "<A> > 0",
    "np.arange(<I>)",
    "<T>.argmax(-1)",
    "<T>.long()",
    "torch.tensor(<L>)",
)
_NUMBERS = (
    *(
        "torch.tensor(float('-inf'))",
        "torch.tensor(<N>)",
        "torch.tensor(-1e8)",
        "torch.tensor(<N>, dtype=<T>.dtype)",
        "torch.tensor(0.0)",
    ),
    *(
        "torch.tensor(-1e8).to(<D>)",
        "torch.tensor(-np.inf)",
        "torch.as_tensor(-1.0)",
        "torch.tensor(0)",
        "torch.tensor(1)",
    ),
    "torch.tensor(float('-inf'), dtype=torch.float32)",
)
_EQUAL_NUMBERS = (
    *("0.0", "-0.0", "1.0", "-1.0", "0.5", "1e30", "1e300", "0", "1", "2", "-1", "4294967296", "True", "False"),
    *("float('-inf')", "float('nan')", "np.inf", "-np.inf", "<N>", "<I>", "[]", "[0.0]", "[1.0, 1.0]", "(1, 1)"),
    *("[[2, 2], [2, 2]]", "[1.0, 1]", "[True, True]", "[-0.0]", "[[0.5]]", "[[], []]", "[300, 300]", "[0.0, -0.0]"),
)

# For each rule the expressions that it may be about.
LINES = {
    "TL101": tuple(
        f"torch.{name}({data}){move}"
        for name in _LEGACY
        for data in ("<A>", "<A>", "<A>", "<L>", "<U>", "<A>[None]", "np.array(<U>)", "[<N>]")
        for move in _MOVES
    ),
    "TL102": tuple(creator + steps for creator in CREATORS for steps in _STEPS),
    "TL104": (
        *(
            "torch.tensor(<R>, dtype=<S>)",
            "torch.tensor(<R>, dtype=torch.float32)",
            "torch.FloatTensor(<R>)",
            "torch.tensor(<R>)",
        ),
        *(
            "torch.as_tensor(<R>, dtype=torch.float32)",
            "torch.as_tensor(<R>, dtype=torch.float64, device=<D>)",
            "torch.DoubleTensor(<R>)",
        ),
        *("torch.FloatTensor(<R>).to(<D>)", "torch.Tensor(<R>).to(<D>)", "torch.FloatTensor(<R>).unsqueeze(1).to(<D>)"),
        *(
            "torch.tensor(<R>).float()",
            "torch.stack([torch.tensor(v) for v in <R>])",
            "torch.LongTensor(<R>)",
            "torch.tensor(<R>, dtype=torch.int64)",
        ),
        *(
            "torch.stack([torch.from_numpy(v) for v in <R>])",
            "torch.tensor(<R>, dtype=torch.bool)",
            "torch.HalfTensor(<R>)",
            "torch.tensor(<R>, dtype=torch.bfloat16)",
        ),
    ),
    "TL105": tuple(
        source + steps
        for source in _WIDE
        for steps in (
            ".<C>().to(<D>)",
            ".to(<D>).<C>()",
            ".to(<D>).bool()",
            ".bool().to(<D>)",
            ".to(<S>).to(<D>)",
            ".float().unsqueeze(0).to(<D>)",
            ".to(<D>).to(torch.bool)",
            ".<C>().cpu()",
            ".to(torch.float32)[None].to(<D>)",
        )
    ),
    "TL401": tuple(
        f"torch.{creator}({number}{where})"
        for number in _EQUAL_NUMBERS
        for creator in ("tensor", "tensor", "as_tensor")
        for where in (
            *("", ", device=<D>", ", dtype=<S>", ", dtype=<S>, device=<D>", ", dtype=<T>.dtype", ", dtype=None"),
            *(
                ", device=<D>, dtype=torch.uint8",
                ", dtype=torch.int8",
                ", dtype=torch.bfloat16",
                ", requires_grad=False",
            ),
        )
    ),
    "TL209": tuple(
        f"torch.where({first}, {one}, {other})"
        for first in ("<M>", "<T> > 0", "~<M>")
        for number in _NUMBERS
        for side in (
            "<T>",
            "<T>",
            "<T>.float()",
            "torch.randn(2, 3)",
            "<U>",
            "torch.ones(<I>, 3)",
            "<T>.double()",
            "<T>.half()[None]",
        )
        for one, other in ((side, number), (number, side))
    ),
    "TL403": (),  # made of the table of modules and functions
    "TL409": tuple(
        f"torch.{name}({elements}{along})"
        for name in ("cat", "concat", "cat")
        for elements, along in (
            *(("[v.unsqueeze(0) for v in <V>]", rest) for rest in ("", ", 0", ", dim=0")),
            *(("[v.unsqueeze(1) for v in <V>]", rest) for rest in (", 1", ", dim=1")),
            *(("[v[None] for v in <V>]", rest) for rest in ("", ", dim=0")),
            ("[<T>.unsqueeze(-1), <T>.unsqueeze(-1)]", ", dim=-1"),
            ("(<T>[None, ...], <T>[np.newaxis])", ", 0"),
            ("[torch.unsqueeze(v, 0) for v in <V>]", ""),
            ("[v.unsqueeze(dim=0) for v in <U>]", ""),
            ("[v[None] for v in <A>]", ""),
            ("[(v * 2).unsqueeze(0) for v in <V> if v.dim()]", ""),
            ("[torch.as_tensor(v)[None] for v in <U>]", ""),
            ("tuple(v.unsqueeze(0) for v in <V>)", ""),
            ("[v.unsqueeze(-2) for v in <V>]", ", dim=-2"),
            ("[v[None] for v in <T>]", ""),
        )
    ),
    "TL412": (
        *(f"<T>[{index}].clone()" for index in _INDICES),
        *(f"<A>[{index}].copy()" for index in _INDICES),
        *(
            "torch.cat([<T>, <T>]).clone()",
            "torch.stack([<T>, <T>]).clone()",
            "np.concatenate([<A>, <A>]).copy()",
            "torch.cat(<V>).clone()",
        ),
        *(
            "torch.stack(<V>, dim=0).clone()",
            "np.stack(<R>).copy()",
            "torch.hstack([<T>, <T>]).clone()",
            "torch.vstack(<V>).clone()",
        ),
        *(
            "np.hstack(<R>).copy()",
            "np.vstack([<A>, <A>]).copy()",
            "torch.cat([<T>]).clone()",
            "torch.cat([<T>, <T>[:0]]).clone()",
        ),
        *(
            "np.concatenate([<A>]).copy()",
            "torch.hstack([<T>]).clone()",
            "torch.dstack(<V>).clone()",
            "np.dstack([<A>]).copy()",
            "torch.concatenate([<T>, <T>]).clone()",
        ),
    ),
    "TL611": (
        *(
            "[int(v) for v in <T>]",
            "[v.item() for v in <T>]",
            "[int(v) for v in <T>.argmax(-1)]",
            "[int(v) for v in torch.randperm(<I>)]",
        ),
        *(
            "[v.item() for v in torch.arange(<I>)]",
            "[int(v.item()) for v in <T>]",
            "[v.cpu().item() for v in <T>.long()]",
        ),
        *(
            "[v.item() for v in <T>.flatten().long()]",
            "[int(v) for v in torch.as_tensor(<U>)]",
            "[int(v) for v in <T>.view(-1).int()]",
        ),
        *(
            "[int(v) for v in torch.arange(<I>, 9)]",
            "[v.item() for v in <T>.nonzero().flatten()]",
            "[int(v) for v in torch.as_tensor(<U>, dtype=torch.int64).flatten()]",
        ),
        *(
            "[int(v) for v in torch.randint(5, (<I>,))]",
            "[v.item() for v in torch.randint(5, (<I>,))]",
            "[v.item() for v in torch.zeros(<I>, dtype=torch.int64)]",
        ),
        *(
            "[v.detach().item() for v in torch.arange(<I>)]",
            "[int(v) for v in torch.tensor([<I>, <I>])]",
            "[int(v) for v in torch.argsort(torch.rand(<I>))]",
        ),
    ),
}

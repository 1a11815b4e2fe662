"""The words on products and layers in a costly form, and on what takes its place."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.advice.rules.rule import Code
from tb_privateuse1.i18n import Text, say


class Form(Struct, frozen=True):
    """The words on one costly form."""

    title: Text
    explanation: Text
    how: Text
    fix: Text
    code: Code


ORDER = Form(
    title=say("Three matrices are multiplied in the costly order: {share} of the time"),
    explanation=say(
        "{count:,} products make a matrix that only the next product reads. In the other order "
        "both need half of the operations or fewer. A typical one has inputs of {shapes}."
    ),
    how=say(
        "The operations that the other order does without, of both products and their gradients."
    ),
    fix=say(
        "Set parentheses: q @ (k.transpose(-1, -2) @ v) instead of (q @ k.transpose(-1, -2)) @ v, "
        "a @ (b @ x) instead of (a @ b) @ x; or torch.linalg.multi_dot, which finds the order."
    ),
    code=Code(before="y = (q @ k.mT) @ v", after="y = q @ (k.mT @ v)"),
)
ZEROS = Form(
    title=say("Matrices of mostly zeros are made and multiplied: {share} of the time"),
    explanation=say(
        "{count:,} products read a matrix that was made just before, with numbers on its diagonal, "
        "in blocks or in a few places alone, or a running sum or Kronecker product as a matrix. A "
        "typical one has inputs of {shapes}."
    ),
    how=say(
        "The time of making the matrix, and the share of the product's operations that are with "
        "zeros; reading what else it reads remains."
    ),
    fix=say(
        "Do what the matrix stands for: d[:, None] * x for torch.diag(d) @ x, bmm of the blocks "
        "for block_diag, x.cumsum(0) for a triangle of ones, index_add or a sparse matrix for a "
        "few places, b @ x @ a.T for a Kronecker product."
    ),
    code=Code(before="y = torch.diag(d) @ x", after="y = d[:, None] * x"),
)
WINDOWS = Form(
    title=say("Windows are laid out in memory for a product: {share} of the time"),
    explanation=say(
        "unfold wrote each element of a picture once for each window that has it, and {count:,} "
        "products alone read that. A convolution reads the picture in place. A typical product has "
        "inputs of {shapes}."
    ),
    how=say("The time of unfold and its gradients; the product is taken to last as long."),
    fix=say("Use torch.nn.functional.conv2d with the weight's kernel in two dimensions."),
    code=Code(
        before="y = weight.flatten(1) @ F.unfold(x, 3, padding=1)",
        after="y = F.conv2d(x, weight, padding=1)",
    ),
)
BY_HAND = Form(
    title=say("Products are computed pair by pair: {share} of the time"),
    explanation=say(
        "A number is written for each pair of two tensors' elements, and {count:,} sums, norms or "
        "cosines alone read these. A product adds them up as it goes. A typical sum has inputs of "
        "{shapes}."
    ),
    how=say(
        "The time of these operators and of their gradients, less that of as many operations at "
        "the rate of this recording's products. Without any, half of the time remains."
    ),
    fix=say(
        "Use a product: a @ b, or torch.einsum with the indices of both tensors. For distances "
        "torch.cdist; for cosines, F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T."
    ),
    code=Code(before="y = (a[:, :, None] * b).sum(1)", after="y = a @ b"),
)
COUNTED = Form(
    title=say("Rows of zeros and ones are made to be added up: {share} of the time"),
    explanation=say(
        "{count:,} sums alone read one-hot rows, all pairs of numbers compared, or numbers "
        "scattered into zeros. A typical sum has inputs of {shapes}."
    ),
    how=say("The time of making, converting and adding up the rows, less a pass over the counts."),
    fix=say(
        "Count by the numbers themselves: torch.bincount(index, minlength=count), with weights "
        "where each row has one; index_add of rows, or scatter_add of ones where each row has "
        "counts of its own. Of numbers without a limit, such as hashes, take the places of "
        "torch.searchsorted in the sorted keys, where these are equal."
    ),
    code=Code(
        before="counts = F.one_hot(index, count).sum(0)",
        after="counts = torch.bincount(index, minlength=count)",
    ),
)
PICKED = Form(
    title=say("One number of each row is picked by one-hot rows: {share} of the time"),
    explanation=say(
        "{count:,} sums over classes alone read scores that are multiplied with one-hot rows. All "
        "but one of each row's products are zero. A typical sum has inputs of {shapes}."
    ),
    how=say("The time of making, converting, multiplying and adding up the rows."),
    fix=say(
        "Pick by the index: scores.gather(1, index[:, None]).squeeze(1); of a loss, "
        "F.cross_entropy(scores, index), also with weights and label smoothing."
    ),
    code=Code(
        before="taken = (values * F.one_hot(actions, count)).sum(1)",
        after="taken = values.gather(1, actions[:, None]).squeeze(1)",
    ),
)
COMPARED = Form(
    title=say("A tensor is compared with one number after the other: {share} of the time"),
    explanation=say(
        "{count:,} rounds compare whole numbers with another one, and count or average what is "
        "equal. They have the same operators, and read nothing of each other. A typical "
        "comparison has inputs of {shapes}."
    ),
    how=say("The time of all rounds but one: of all numbers at once, as many calls remain."),
    fix=say(
        "Count all numbers at once: torch.bincount(labels, minlength=count); add up rows by their "
        "number with index_add, and divide by the counts."
    ),
    code=Code(
        before="counts = [(labels == each).sum() for each in range(count)]",
        after="counts = torch.bincount(labels, minlength=count)",
    ),
)
SPECTRUM = Form(
    title=say("All numbers are computed where few are read: {share} of the time"),
    explanation=say(
        "{count:,} decompositions, norms of matrices or running sums compute what behind them is "
        "cut to a few numbers, or to the greatest one, or complete a basis that nobody reads. A "
        "typical one has inputs of {shapes}."
    ),
    how=say(
        "Their time less that of svd_lowrank: six products at the rate of this recording's, and "
        "for several vectors its decompositions, by their columns, at the rate of the whole one; "
        "half of a running sum; of a basis the part beyond the "
        "matrix' own. Such methods are exact to some "
        "digits, and converge by the matrix. Without a product the range begins at nothing."
    ),
    fix=say(
        "Compute the few: torch.svd_lowrank or torch.lobpcg, some steps of the power method that "
        "begin at the last vector (as torch.nn.utils.parametrizations.spectral_norm does), "
        "full_matrices=False, mode='reduced', or x.sum(0) for x.cumsum(0)[-1]."
    ),
    code=Code(
        before="most = torch.linalg.svdvals(weight)[0]",
        after="v = F.normalize(weight.T @ (weight @ v), dim=0)  # v is kept\n"
        "most = (weight @ v).norm()",
    ),
)
SUMMED = Form(
    title=say("Layers work on rows that are then added up: {share} of the time"),
    explanation=say(
        "{count:,} sums or means alone read the results of layers. Both are linear: the layer of "
        "the mean is the mean of the layer's rows. A typical sum has an input of {shapes}."
    ),
    how=say("The share of rows that the sum leaves out, of the layers and their gradients."),
    fix=say(
        "Add up first: layer(x.mean(1)) instead of layer(x).mean(1). Of a sum, the bias "
        "counts once for each row."
    ),
    code=Code(before="y = layer(x).mean(1)", after="y = layer(x.mean(1))"),
)
LOOKED_UP = Form(
    title=say("Rows are looked up and then added up: {share} of the time"),
    explanation=say(
        "{count:,} sums alone read rows that a lookup has copied from its table. A typical sum has "
        "an input of {shapes}."
    ),
    how=say(
        "The time of the sums and half of that of the lookups, the writing of rows; with their "
        "gradients."
    ),
    fix=say("Use torch.nn.EmbeddingBag, which adds the rows up as it reads them."),
    code=Code(
        before="y = F.embedding(words, table).sum(1)",
        after='y = F.embedding_bag(words, table, mode="sum")',
    ),
)
PADDED = Form(
    title=say("Inputs are copied with zeros around them: {share} of the time"),
    explanation=say(
        "{count:,} convolutions alone read what pad has copied. They add zeros themselves. A "
        "typical one has inputs of {shapes}."
    ),
    how=say("The time of the copies and of their gradients."),
    fix=say("Give the convolution the padding: F.conv2d(x, weight, padding=1)."),
    code=Code(
        before="y = F.conv2d(F.pad(x, (1, 1, 1, 1)), weight)",
        after="y = F.conv2d(x, weight, padding=1)",
    ),
)
SCALED = Form(
    title=say("Norms with fixed statistics follow their layers: {share} of the time"),
    explanation=say(
        "{count:,} batch norms, which compute no statistics and have no gradients, alone read the "
        "results of layers. That is a scale and a sum for each channel, which the layer's weight "
        "and bias can have. A typical norm has inputs of {shapes}."
    ),
    how=say("The time of the norms."),
    fix=say(
        "Fold them once when the model is loaded: "
        "torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm), fuse_linear_bn_eval, or "
        "torch.compile with freezing."
    ),
    code=Code(
        before="y = norm(conv(x))",
        after="conv = torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)  # once\ny = conv(x)",
    ),
)

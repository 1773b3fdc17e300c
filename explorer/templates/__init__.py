"""Region graphs, circuits made from them, and the gallery of named circuits."""

from explorer.templates import gallery as gallery
from explorer.templates.gallery import Gallery as Gallery, load_named as load_named
from explorer.templates.inputs import (
    BinomialInput as BinomialInput,
    CategoricalInput as CategoricalInput,
    EmbeddingInput as EmbeddingInput,
    ExponentialInput as ExponentialInput,
    GaussianInput as GaussianInput,
    HistogramInput as HistogramInput,
    InputSpec as InputSpec,
    LaplaceInput as LaplaceInput,
    ParameterFactory as ParameterFactory,
    bounded_stddev as bounded_stddev,
    get_input_spec as get_input_spec,
)
from explorer.templates.known_circuits import (
    cp as cp,
    fully_factorized as fully_factorized,
    hmm as hmm,
    sum_chain as sum_chain,
    tensor_train as tensor_train,
    tucker as tucker,
)
from explorer.templates.region_circuits import (
    BLOCKS as BLOCKS,
    IMAGE_REGION_GRAPHS as IMAGE_REGION_GRAPHS,
    Block as Block,
    BlockSizes as BlockSizes,
    build_circuit as build_circuit,
    cp_block as cp_block,
    cp_transposed_block as cp_transposed_block,
    dense_sum as dense_sum,
    get_block as get_block,
    hidden_tree as hidden_tree,
    image_data as image_data,
    tucker_block as tucker_block,
)
from explorer.templates.regions import (
    ImageShape as ImageShape,
    Partition as Partition,
    RegionGraph as RegionGraph,
    RegionGraphBuilder as RegionGraphBuilder,
    categorical_mutual_information as categorical_mutual_information,
    chow_liu_parents as chow_liu_parents,
    chow_liu_tree as chow_liu_tree,
    fully_factorized_regions as fully_factorized_regions,
    gaussian_mutual_information as gaussian_mutual_information,
    linear_tree as linear_tree,
    mixed_mutual_information as mixed_mutual_information,
    poon_domingos as poon_domingos,
    quad_graph as quad_graph,
    quad_tree as quad_tree,
    random_binary_tree as random_binary_tree,
    region_graph_from_json as region_graph_from_json,
    region_graph_to_json as region_graph_to_json,
    tree_regions as tree_regions,
)

"""The contract between views and drawing: plain data that `explorer.views` produces and the ES modules draw.

Python decides everything that has a meaning (positions, colour roles, words); JavaScript draws it. All data has JSON
types, so a saved picture opens without the engine. A picture is sent as one JSON string (topology and words) and one
array of 32-bit floats (x, y, width, height of every node, in the order of `nodes`; x, y is the centre of the box).
Readers ignore unknown fields.
"""

from explorer_widgets.schema.bars import (
    AxisView as AxisView,
    BarsView as BarsView,
    BarView as BarView,
    ChartEntryView as ChartEntryView,
    ChartView as ChartView,
)
from explorer_widgets.schema.buffers import (
    BuffersView as BuffersView,
    BufferView as BufferView,
    ByteScaleView as ByteScaleView,
    LayerSpanView as LayerSpanView,
    ListedView as ListedView,
    RecordedBuffersView as RecordedBuffersView,
)
from explorer_widgets.schema.closeup import (
    CloseupView as CloseupView,
    CodeView as CodeView,
    MemoryView as MemoryView,
    ParametersView as ParametersView,
    RunView as RunView,
    SheetView as SheetView,
    StripView as StripView,
    ValuesView as ValuesView,
)
from explorer_widgets.schema.derivation import (
    DerivationView as DerivationView,
    DrawnCircuitView as DrawnCircuitView,
    DrawnPlateView as DrawnPlateView,
)
from explorer_widgets.schema.details import (
    DetailsView as DetailsView,
    FoldGroupView as FoldGroupView,
    FoldLevelView as FoldLevelView,
    SectionView as SectionView,
)
from explorer_widgets.schema.film import (
    ClockLaneView as ClockLaneView,
    ClockLensView as ClockLensView,
    ClockView as ClockView,
    FrameView as FrameView,
    GuessView as GuessView,
    RaceView as RaceView,
    SceneName as SceneName,
    SceneView as SceneView,
    SmallPlateView as SmallPlateView,
    StairView as StairView,
    StepView as StepView,
    ThumbnailPlateView as ThumbnailPlateView,
    ThumbnailView as ThumbnailView,
)
from explorer_widgets.schema.lens import (
    AttemptView as AttemptView,
    EntryView as EntryView,
    LensView as LensView,
    PartView as PartView,
    RivalView as RivalView,
    RuleView as RuleView,
    WhatIfView as WhatIfView,
)
from explorer_widgets.schema.living import (
    LivingEpochView as LivingEpochView,
    LivingExampleView as LivingExampleView,
    LivingKind as LivingKind,
    LivingLayerView as LivingLayerView,
    LivingNumbersView as LivingNumbersView,
    LivingVariableView as LivingVariableView,
    LivingView as LivingView,
)
from explorer_widgets.schema.marks import MarkView as MarkView
from explorer_widgets.schema.picture import (
    ActionView as ActionView,
    EdgeView as EdgeView,
    HullView as HullView,
    LegendItem as LegendItem,
    LookView as LookView,
    NodeView as NodeView,
    PictureStateView as PictureStateView,
    PictureView as PictureView,
    PortView as PortView,
    SignView as SignView,
    TableView as TableView,
)
from explorer_widgets.schema.pins import PinKind as PinKind, PinView as PinView
from explorer_widgets.schema.plates import (
    BadgeView as BadgeView,
    HalfBarView as HalfBarView,
    LinkView as LinkView,
    PlateView as PlateView,
)
from explorer_widgets.schema.query import (
    ImageView as ImageView,
    QueryView as QueryView,
)
from explorer_widgets.schema.questions import (
    ClicksView as ClicksView,
    NumberView as NumberView,
    QuestionView as QuestionView,
    VerdictView as VerdictView,
)
from explorer_widgets.schema.recordings import (
    EmbeddedView as EmbeddedView,
    GraphOptions as GraphOptions,
    RecordingHeadView as RecordingHeadView,
    RecordingPartView as RecordingPartView,
    RecordingView as RecordingView,
)
from explorer_widgets.schema.score import (
    MarkShape as MarkShape,
    ScoreMarkView as ScoreMarkView,
    ScoreView as ScoreView,
)
from explorer_widgets.schema.words import (
    VERSION as VERSION,
    Change as Change,
    ColourBy as ColourBy,
    GroupBy as GroupBy,
    HullKind as HullKind,
    Mode as Mode,
    NodeKind as NodeKind,
)

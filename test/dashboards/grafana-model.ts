import type * as grafana from '@grafana/schema'
import type * as heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen'
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen'
import type * as states from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen'
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen'
import type * as series from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen'

/** A published type as JSON has it: the texts of its enums instead of the enums. */
type Written<T> = T extends string
  ? `${T}`
  : T extends object
    ? { [Key in keyof T]: Written<T[Key]> }
    : T

/** A query of Prometheus; Grafana publishes no type for it here. */
interface PrometheusQuery {
  readonly datasource: grafana.DataSourceRef
  readonly editorMode: 'code' | 'builder'
  readonly expr: string
  readonly format: 'time_series' | 'table' | 'heatmap'
  readonly instant: boolean
  readonly range: boolean
  readonly legendFormat: string
  readonly refId: string
}

/** The fields that Prometheus adds to an annotation; no type is published for these either. */
interface PrometheusMarks {
  readonly expr: string
  readonly step: string
  readonly tagKeys: string
  readonly titleFormat: string
  readonly textFormat: string
  readonly useValueForTime: 'on'
}

/** A change of a field's configuration. The published type leaves its value open. */
type Property =
  | { readonly id: 'color'; readonly value: grafana.FieldColor }
  | { readonly id: 'unit'; readonly value: string }
  | { readonly id: 'decimals'; readonly value: number }
  | { readonly id: 'mappings'; readonly value: grafana.ValueMapping[] }
  | { readonly id: 'thresholds'; readonly value: grafana.ThresholdsConfig }
  | { readonly id: 'custom.cellOptions'; readonly value: grafana.TableCellOptions }

/** Options of the transformations that are used; the published type leaves them open. */
type Transformation =
  | { readonly id: 'merge'; readonly options: Readonly<Record<string, never>> }
  | {
      readonly id: 'organize'
      readonly options: {
        readonly excludeByName: Readonly<Record<string, boolean>>
        readonly indexByName: Readonly<Record<string, number>>
        readonly renameByName: Readonly<Record<string, string>>
      }
    }

type Panel<Type extends string, Options, Custom> = Omit<
  grafana.Panel,
  'type' | 'options' | 'fieldConfig' | 'targets' | 'transformations'
> & {
  readonly type: Type
  readonly options: Options
  readonly targets: PrometheusQuery[]
  readonly transformations?: Transformation[]
  readonly fieldConfig: {
    readonly defaults: Omit<grafana.FieldConfig, 'custom'> & { readonly custom: Custom }
    readonly overrides: {
      readonly matcher: grafana.MatcherConfig
      readonly properties: Property[]
    }[]
  }
}

/** A dashboard as Grafana's published types have it, with the kinds of panels that are used. */
export type GrafanaDashboard = Written<
  Omit<grafana.Dashboard, 'panels' | 'annotations' | 'templating'> & {
    readonly panels: (
      | grafana.RowPanel
      | Panel<'timeseries', series.Options, series.FieldConfig>
      | Panel<'stat', stat.Options, Readonly<Record<string, never>>>
      | Panel<'table', table.Options, table.FieldConfig>
      | Panel<'state-timeline', states.Options, states.FieldConfig>
      | Panel<'heatmap', heatmap.Options, heatmap.FieldConfig>
    )[]
    readonly annotations: { readonly list: (grafana.AnnotationQuery & PrometheusMarks)[] }
    readonly templating: { readonly list: (grafana.VariableModel & { definition?: string })[] }
  }
>

import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'

const DEPLOY = new URL('../../deploy/', import.meta.url)

/** One query of a panel. */
export interface Target {
  readonly refId: string
  readonly expr: string
  readonly legendFormat: string
  readonly instant: boolean
  readonly range: boolean
  readonly format: string
  readonly datasource: Datasource
}

/** Where queries go. */
export interface Datasource {
  readonly type: string
  readonly uid: string
}

/** A change of some fields' configuration. */
export interface Override {
  readonly matcher: { readonly id: string; readonly options: string }
  readonly properties: readonly { readonly id: string; readonly value: unknown }[]
}

/** One panel, or the heading of a row. */
export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly datasource?: Datasource
  readonly targets?: readonly Target[]
  readonly fieldConfig?: {
    readonly defaults: {
      readonly unit: string
      readonly color?: { readonly mode: string }
      readonly thresholds: {
        readonly mode: string
        readonly steps: readonly { readonly value: number | null; readonly color: string }[]
      }
    }
    readonly overrides: readonly Override[]
  }
  readonly options?: Readonly<Record<string, unknown>>
}

/** A dashboard as it is shipped. */
export interface Dashboard {
  readonly file: string
  /** The questions that an import asks. */
  readonly __inputs?: readonly Readonly<Record<string, string>>[]
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly schemaVersion: number
  readonly tags: readonly string[]
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
  readonly annotations: { readonly list: readonly Annotation[] }
}

/** A choice that readers have. */
export interface Variable {
  readonly name: string
  readonly type: string
  readonly label: string
  readonly definition?: string
  readonly datasource?: Datasource
  readonly allValue?: string
}

/** Marks on the graphs. */
export interface Annotation {
  readonly name: string
  readonly expr: string
  readonly datasource: Datasource
  readonly textFormat: string
  readonly iconColor: string
}

/** A rule of Prometheus. */
export interface PrometheusRule {
  readonly file: string
  /** Rules of one group are evaluated in order, and for one moment. */
  readonly group: string
  readonly expr: string
  readonly record?: string
  readonly alert?: string
  readonly for?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** One thing that is asked of Prometheus. */
export interface Query {
  readonly where: string
  readonly expr: string
}

/** All dashboards that are shipped. */
export function dashboards(): readonly Dashboard[] {
  const directory = new URL('grafana/', DEPLOY)
  return readdirSync(directory)
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const text = readFileSync(new URL(file, directory), 'utf8')
      return { ...(JSON.parse(text) as Omit<Dashboard, 'file'>), file }
    })
}

/** The panels of a dashboard that show something. */
export function panelsOf(dashboard: Dashboard): readonly Panel[] {
  return dashboard.panels.filter(({ type }) => type !== 'row')
}

/** All rules of Prometheus that are shipped. */
export function prometheusRules(): readonly PrometheusRule[] {
  interface File {
    readonly groups?: readonly {
      readonly name: string
      readonly rules: readonly Omit<PrometheusRule, 'file' | 'group'>[]
    }[]
  }
  const directory = new URL('prometheus/', DEPLOY)
  return ruleFiles().flatMap((file) => {
    const { groups = [] } = parse(readFileSync(new URL(file, directory), 'utf8')) as File
    return groups.flatMap(({ name, rules }) =>
      rules.map((rule) => ({ ...rule, file, group: name })),
    )
  })
}

/** The names of the files with rules for operation; the alerts of experiments count injected faults. */
export function ruleFiles(): readonly string[] {
  return readdirSync(new URL('prometheus/', DEPLOY)).filter(
    (file) => file.endsWith('.yml') && !/^(?:scrape|experiments)[.]/.test(file),
  )
}

/** Every query of a dashboard: panels, annotations, and the metrics that list the choices. */
export function queriesOf(dashboard: Dashboard): readonly Query[] {
  const of = (what: string): string => `${dashboard.title} / ${what}`
  return [
    ...panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, refId }) => ({ where: of(`${title} ${refId}`), expr })),
    ),
    ...dashboard.annotations.list.map(({ name, expr }) => ({ where: of(name), expr })),
    ...dashboard.templating.list.flatMap(({ name, definition }) =>
      definition === undefined ? [] : [{ where: of(`$${name}`), expr: listedBy(definition) }],
    ),
  ]
}

/** Tells whether a query is about the webhook, which is scraped by a job of its own. */
export function isAboutWebhook(expr: string): boolean {
  return /squall_(webhook|injection)/.test(expr)
}

/** True for queries without data: no webhook, no repeated calls, no false values, no stdio. */
export function isElsewhere(expr: string): boolean {
  return (
    isAboutWebhook(expr) ||
    /duplicate_executions|squall_falsified_|squall_stdio_|squall_outbound_|verdict="(runaway|possible_duplicate)"/.test(
      expr,
    )
  )
}

/** The part of `label_values(metric{…}, label)` that is a query. */
function listedBy(definition: string): string {
  return /^label_values\((.*), \w+\)$/.exec(definition)?.[1] ?? definition
}

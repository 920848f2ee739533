import type { Origin } from '../mcp/call.ts'

/** How many, by who made it so. */
export type ByOrigin = Readonly<Record<Origin, number>>

/** How many calls took how long. */
export interface Durations {
  /** Upper bounds in seconds, ascending. */
  readonly bounds: Float64Array
  /** One number for each of the bounds, and one for all that is longer; not cumulative. */
  readonly counts: Float64Array
}

/** What the calls of one tool came to since the process began: plain data, for whoever shows it. */
export interface ToolSample {
  /** As in metrics; empty for the calls of all other methods together. */
  readonly tool: string
  readonly calls: ByOrigin
  /** Those of them that did not end well. */
  readonly errors: ByOrigin
  /** As the client saw it. */
  readonly seconds: Durations
  /** What the app took. */
  readonly upstreamSeconds: Durations
}

/** Asked for the tools whenever somebody looks. */
export type ToolsSource = () => readonly ToolSample[]

import type { Origin } from '../mcp/call.ts'

/** Counts by origin. */
export type ByOrigin = Readonly<Record<Origin, number>>

/** A histogram of durations. */
export interface Durations {
  /** Upper bounds in seconds, ascending. */
  readonly bounds: Float64Array
  /** One count for each bound, and one for longer durations; not cumulative. */
  readonly counts: Float64Array
}

/** Counts of one tool since the process began. */
export interface ToolSample {
  /** The label as in metrics; empty for the calls of all other methods together. */
  readonly tool: string
  readonly calls: ByOrigin
  /** The calls that did not end well. */
  readonly errors: ByOrigin
  /** Durations as the client saw them. */
  readonly seconds: Durations
  /** Durations of the upstream's responses. */
  readonly upstreamSeconds: Durations
  /** The results whose size is known, and their sizes added up. */
  readonly results: { readonly count: number; readonly bytes: number }
}

/** Returns the current counts of the tools. */
export type ToolsSource = () => readonly ToolSample[]

import type { ActiveRules } from '../../rules/watch/active-rules.ts'
import type { Logger } from '../../telemetry/log.ts'

/** The options of `squall demo`. */
export interface DemoOptions {
  /** Print the results as JSON, and nothing else. */
  readonly json: boolean
  /** Keep app and sidecar running until stopped. */
  readonly stay: boolean
  /** The file for the report. */
  readonly report: string | undefined
}

/** The parts of the program that the demo runs: commands are above it. */
export interface DemoProgram {
  readonly version: string
  /** Starts `squall run` in this process with these flags. */
  startSidecar(flags: Readonly<Record<string, string>>, logger: Logger): Promise<StartedSidecar>
}

/** A running `squall run`. */
export interface StartedSidecar {
  readonly listeners: readonly { readonly port: number }[]
  readonly admin: { readonly port: number } | undefined
  readonly rules: ActiveRules | undefined
  close(): Promise<void>
}

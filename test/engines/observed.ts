/** How a connection ended, as the other side of it was told; `kept` when it was open at the end. */
export type End = 'kept' | 'fin' | 'rst'

/** One connection of the client, as it went. */
export interface ClientSeen {
  readonly received: string
  readonly end: End
  /** How each step ended: met, over with the connection, or because nothing happened any more. */
  readonly waits: string
  /** What came after the client had closed a connection that was kept until then. */
  readonly after: string
  readonly afterEnd: End
}

/** One connection to the app, as it went. */
export interface AppSeen {
  /** The requests on it; the last one may be cut. */
  readonly requests: readonly string[]
  readonly end: End
}

/** All that could be seen of one script from outside. */
export interface Observed {
  readonly clients: readonly ClientSeen[]
  readonly app: readonly AppSeen[]
  /** What was counted, in the order of the alphabet. */
  readonly told: readonly string[]
  /** What was still counted as open when every connection had ended. */
  readonly left: readonly string[]
}

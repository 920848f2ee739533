/** The end of a connection as the other side saw it; `kept` if it was still open at the end. */
export type End = 'kept' | 'fin' | 'rst'

/** One connection of the client, as it went. */
export interface ClientSeen {
  readonly received: string
  readonly end: End
  /** The end of each step: met, over with the connection, or because nothing happened any more. */
  readonly waits: string
  /** The bytes that arrived after the client had closed a connection that was kept until then. */
  readonly after: string
  readonly afterEnd: End
}

/** One connection to the upstream, as it went. */
export interface AppSeen {
  /** The requests on it; the last one may be cut. */
  readonly requests: readonly string[]
  readonly end: End
}

/** All that could be seen of one script from outside. */
export interface Observed {
  readonly clients: readonly ClientSeen[]
  readonly app: readonly AppSeen[]
  /** The records, in alphabetical order. */
  readonly told: readonly string[]
  /** The gauges that were still above zero after every connection had ended. */
  readonly left: readonly string[]
}

/**
 * One thing that a client does on its connection. Waits also end with the connection, or when all
 * is quiet.
 */
export type Step =
  /** Writes bytes, one character each; `asks` are the methods of the requests that end in them. */
  | { readonly do: 'send'; readonly bytes: string; readonly asks?: readonly string[] }
  /** Lets the event loop go round. */
  | { readonly do: 'turns'; readonly count: number }
  /** Waits for this many whole responses on this connection. */
  | { readonly do: 'responses'; readonly count: number }
  /** Waits for this many bytes on this connection. */
  | { readonly do: 'bytes'; readonly count: number }
  /** Waits until this many requests of the script have begun to arrive at the upstream. */
  | { readonly do: 'app'; readonly count: number }
  | { readonly do: 'quiet' }
  | { readonly do: 'fin' }
  | { readonly do: 'rst' }

/** The upstream's response to one request. */
export interface AppResponse {
  /** The marker of the request, or its position in the order of arrival if it has none. */
  readonly marker: number
  /** At the end of the request's headers, or of its body. */
  readonly at: 'head' | 'whole'
  readonly pieces: readonly string[]
  /** Turns of the event loop between two pieces. */
  readonly gap: number
  /** Nothing is sent before the client has done this many steps of its script. */
  readonly after?: number
  /** The state of the connection after the last piece. */
  readonly end: 'keep' | 'fin' | 'rst'
}

/** The actions of clients and upstream, the same for each engine. */
export interface Script {
  /** A short description for reports. */
  readonly about: string
  /** Connections of one client after the other. */
  readonly clients: readonly (readonly Step[])[]
  readonly responses: readonly AppResponse[]
  /**
   * Something in it takes time: a fault that waits, or bytes that are decoded in another thread.
   */
  readonly slow: boolean
}

/** Returns the number of requests that a script makes. */
export function exchangesOf(script: Script): number {
  let count = 0
  for (const steps of script.clients) {
    for (const step of steps) if (step.do === 'send') count += step.asks?.length ?? 0
  }
  return count
}

/** A marker as it is written in a request. */
export function markText(marker: number): string {
  return `~${marker}~`
}

/** Returns the marker in a request, if it has one. */
export function markIn(text: string): number | undefined {
  const match = /~(\d{1,6})~/.exec(text)
  return match === null ? undefined : Number(match[1])
}

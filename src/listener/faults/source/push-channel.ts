/** Reaches the open streams of HTTP+SSE sessions, by which their calls are answered. */
export interface PushChannel {
  /** Sends whole events on a session's stream, between two of the app's own. False when there is none. */
  send(session: string, bytes: Uint8Array): boolean
}

// Builds requests of protocol version 2025-06-18, with a session.

export const VERSION = '2025-06-18'

/** Returns the headers and the body of a request; without an id it is a notification. */
export function request(method, params, { id, session } = {}) {
  return {
    headers: headersFor(session),
    body: JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params }),
  }
}

/** Returns the headers of a request; the server chooses between JSON and an event stream. */
export function headersFor(session) {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(session === undefined
      ? {}
      : { 'mcp-session-id': session, 'mcp-protocol-version': VERSION }),
  }
}

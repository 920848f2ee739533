/** A POSTed JSON-RPC message as bytes. */
export function rpcPost(message: string, lines = ''): string {
  const body = Buffer.from(message)
  return `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body.toString('latin1')}`
}

/** A POSTed tools/call as bytes. */
export function toolCall(id: number | string, name = 'echo', lines = ''): string {
  const params = { name, arguments: { message: 'hi' } }
  return rpcPost(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }), lines)
}

/** The request that opens a stream of pushed events. */
export const OPEN_STREAM = 'GET /mcp HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\n\r\n'

/** The head of a chunked event stream. */
export const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n'

/** The middle of a list of durations. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

// Helpers of a load script for MCP over Streamable HTTP, without imports from k6.

export const REVISION = '2025-06-18'

/** The headers of a request; a server responds with JSON or with an event stream, as it likes. */
export function headersFor(session) {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(session === undefined
      ? {}
      : { 'mcp-session-id': session, 'mcp-protocol-version': REVISION }),
  }
}

/** The body of a call; without an id it is a notification. */
export function message(method, params, id) {
  return JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params })
}

/** A header of a response, whatever the case of its name. */
export function headerOf(headers, name) {
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name)
  return key === undefined ? undefined : headers[key]
}

/** The JSON-RPC messages of a response: one JSON body, a batch, or the events of a stream. */
export function messagesOf(contentType, body) {
  const type = (contentType || '').split(';', 1)[0].trim().toLowerCase()
  if (type === 'text/event-stream') return eventsOf(body).flatMap(parsed)
  return type === 'application/json' ? parsed(body) : []
}

/** The response to the call of this id, among the messages; undefined when there is none. */
export function answerTo(id, messages) {
  return messages.find((each) => each.id === id && ('result' in each || 'error' in each))
}

/** How a call ended, as a client sees it. */
export function outcomeOf(status, answer) {
  if (status === 0) return 'no_response'
  if (status >= 400) return 'http_error'
  if (answer === undefined) return 'incomplete'
  if (answer.error !== undefined) return 'rpc_error'
  return answer.result.isError === true ? 'tool_error' : 'ok'
}

/** Whether Squall marked the response: in its head, or in a comment of its event stream. */
export function isInjected(headers, body) {
  return headerOf(headers, 'x-squall-fault') !== undefined || /^: x-squall-fault /m.test(body || '')
}

/** Returns the data of each event of a stream. An event must end with an empty line. */
export function eventsOf(text) {
  const blocks = (text || '').replace(/\r\n?/g, '\n').split('\n\n')
  return blocks.slice(0, -1).flatMap((block) => {
    const data = block
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).replace(/^ /, ''))
    return data.length === 0 ? [] : [data.join('\n')]
  })
}

function parsed(text) {
  try {
    const value = JSON.parse(text)
    return (Array.isArray(value) ? value : [value]).filter(
      (each) => typeof each === 'object' && each !== null,
    )
  } catch {
    return []
  }
}

// Parses MCP responses over Streamable HTTP, for all protocol versions, without imports from k6.

/** Returns a header of a response, by its name in lower case. */
export function headerOf(headers, name) {
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name)
  return key === undefined ? undefined : headers[key]
}

/** Returns the JSON-RPC messages of a response: one JSON body, a batch, or the events of a stream. */
export function messagesOf(contentType, body) {
  const type = (contentType || '').split(';', 1)[0].trim().toLowerCase()
  if (type === 'text/event-stream') return eventsOf(body).flatMap(parsed)
  return type === 'application/json' ? parsed(body) : []
}

/** Finds the response to the call with an id; undefined when there is none. */
export function responseTo(id, messages) {
  return messages.find((each) => each.id === id && ('result' in each || 'error' in each))
}

/** Returns the outcome of a call, as a client sees it. */
export function outcomeOf(status, response) {
  if (status === 0) return 'no_response'
  if (status >= 400) return 'http_error'
  if (response === undefined) return 'incomplete'
  if (response.error !== undefined) return 'rpc_error'
  if (response.result.isError === true) return 'tool_error'
  // Since 2026-07-28, a result may also request input or reference a task.
  const { resultType } = response.result
  return resultType === undefined || resultType === 'complete' ? 'ok' : resultType
}

/** Returns whether the response has Squall's marker, as a header or as a comment in an event stream. */
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

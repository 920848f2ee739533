// Builds requests of protocol version 2026-07-28, which has no sessions: each POST has its method and tool
// in headers.
import encoding from 'k6/encoding'

export const VERSION = '2026-07-28'

const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'k6', version: '1.0.0' },
}

/** Returns the headers and the body of a request. */
export function request(method, params, { id }) {
  const name = params.name === undefined ? params.uri : params.name
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': headerValue(name) }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: META } }),
  }
}

/** Encodes a name for a header: as Base64 unless it is plain ASCII. */
function headerValue(name) {
  const isPlain = /^(?! )[ -~]+(?<! )$/.test(name) && !/^=\?base64\?.*\?=$/.test(name)
  return isPlain ? name : `=?base64?${encoding.b64encode(name)}?=`
}

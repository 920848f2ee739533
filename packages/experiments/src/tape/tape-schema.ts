import { schemaText } from '#rules'

const own = (type: unknown, description: string): object => ({ type, description })
const text = (description: string): object => own('string', description)
const of = (values: readonly string[], description: string): object => ({
  ...text(description),
  enum: values,
})

const HEADER = {
  type: 'object',
  description: 'First line of the tape, which describes the recording.',
  required: ['tape', 'secrets'],
  properties: {
    tape: { const: 1, description: 'Version of the format.' },
    squall: text('Squall version that recorded the tape.'),
    recordedAt: text('Start of the recording, in ISO 8601.'),
    note: text('Reminder that arguments and results are recorded in clear text.'),
    secrets: of(['redacted', 'kept'], 'Treatment of values that look like secrets.'),
    redact: {
      type: 'array',
      items: { type: 'string' },
      description: 'JSON Pointers to additional redacted values; `*` is any key or index.',
    },
  },
}

const LINE = {
  type: 'object',
  description: 'Every other line: a message, or the end of an exchange without a message.',
  required: ['at', 'exchange', 'from'],
  properties: {
    at: own('number', 'Milliseconds since the recording began.'),
    exchange: own('integer', 'Number of the HTTP exchange, or of the stdio line.'),
    session: text('Prefix of a session hash; absent without a session.'),
    protocolVersion: text('Protocol version in a request header.'),
    from: of(['client', 'server'], 'Sender of the message.'),
    via: of(
      ['json', 'sse', 'stream'],
      'Channel of the message: whole response, event of a response, or separate stream.',
    ),
    id: own(['string', 'number', 'null'], 'JSON-RPC id of a request or response.'),
    method: text('Method of a request or notification.'),
    params: { description: 'Parameters of a request or notification.' },
    status: own('integer', 'HTTP status of an error.'),
    retryAfter: text('Value of the header `Retry-After`.'),
    body: text('Body of a response that is not JSON-RPC.'),
    failed: of(
      ['connect', 'overload', 'reset', 'closed', 'protocol', 'internal'],
      'Failure that ended the exchange without a complete response.',
    ),
    omitted: of(['too_large', 'unreadable'], 'Why a message is not on the tape.'),
    bytes: own('integer', 'Size of a message that is not on the tape.'),
    error: { description: 'JSON-RPC error of a response.' },
    result: {
      description: 'JSON-RPC result of a response. In lines above 16 MiB, this is the last member.',
    },
  },
}

/** Returns the JSON Schema of each line of a tape. */
export function tapeSchemaText(): string {
  const title = 'Line of a Squall tape'
  const root = { $schema: 'http://json-schema.org/draft-07/schema#', title, anyOf: [HEADER, LINE] }
  return schemaText('tape', root)
}

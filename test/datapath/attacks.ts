/** The verdict on an attack: no request reaches the server, exactly one does, or either. */
export type Verdict = 'rejected' | 'passes' | 'safe'

/** A request that tries to be understood in two ways. */
export interface Attack {
  readonly name: string
  readonly verdict: Verdict
  readonly bytes: string
}

/** A second request, hidden where only a misled reader would find it. */
const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: pod\r\n\r\n'

const attack = (verdict: Verdict, name: string, bytes: string): Attack => ({ name, verdict, bytes })

/** A POST with its own header lines and body. */
const post = (lines: string, body: string): string =>
  `POST /mcp HTTP/1.1\r\nHost: pod\r\n${lines}\r\n${body}`

const get = (lines: string): string => `GET /mcp HTTP/1.1\r\nHost: pod\r\n${lines}\r\n`

const chunkedBody = `5\r\nhello\r\n0\r\n\r\n`
const chunked = (body: string): string => post('Transfer-Encoding: chunked\r\n', body)

/** Transfer-Encoding values that some readers take for chunked and others do not. */
const codings = [
  'xchunked',
  'x chunked',
  'chunked, identity',
  'identity, chunked',
  'gzip, chunked',
  'chunked, chunked',
  'chunked,',
  ', chunked',
  '"chunked"',
  'chunked;q=1',
  'chunked\u000b',
  '\u000bchunked',
  'chunked\u0000',
  'identity',
  '\u00e7hunked',
  '',
].map((value) =>
  attack(
    'rejected',
    `Transfer-Encoding ${JSON.stringify(value)}`,
    post(`Transfer-Encoding: ${value}\r\n`, chunkedBody + HIDDEN),
  ),
)

/** The same with a length beside it, which a reader that ignores the coding would go by. */
const both = [
  'chunked',
  'xchunked',
  'Chunked',
  'identity',
  'chunked, identity',
  '\tchunked',
  '',
].flatMap((value) => [
  attack(
    'rejected',
    `Content-Length, then Transfer-Encoding ${JSON.stringify(value)}`,
    post(`Content-Length: 4\r\nTransfer-Encoding: ${value}\r\n`, `0\r\n\r\n${HIDDEN}`),
  ),
  attack(
    'rejected',
    `Transfer-Encoding ${JSON.stringify(value)}, then Content-Length`,
    post(`Transfer-Encoding: ${value}\r\nContent-Length: 6\r\n`, `0\r\n\r\n${HIDDEN}`),
  ),
])

const codingLines = [
  ['a tab before chunked', 'safe', 'Transfer-Encoding:\tchunked\r\n'],
  ['blanks around chunked', 'safe', 'Transfer-Encoding:   chunked  \r\n'],
  ['chunked on a folded line', 'rejected', 'Transfer-Encoding:\r\n chunked\r\n'],
  ['two codings', 'rejected', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'],
  [
    'chunked, then identity in a line of its own',
    'rejected',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n',
  ],
  [
    'identity, then chunked in a line of its own',
    'rejected',
    'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n',
  ],
  ['a blank before the colon', 'rejected', 'Transfer-Encoding : chunked\r\n'],
  ['a blank before the name', 'rejected', ' Transfer-Encoding: chunked\r\n'],
  ['an underscore in the name', 'safe', 'Transfer_Encoding: chunked\r\n'],
  ['a bare CR before the name', 'rejected', 'X: y\rTransfer-Encoding: chunked\r\n'],
  ['a bare LF before the name', 'rejected', 'X: y\nTransfer-Encoding: chunked\r\n'],
].map(([name, verdict, lines]) =>
  attack(
    verdict as Verdict,
    `Transfer-Encoding with ${name!}`,
    post(lines!, verdict === 'safe' ? chunkedBody : chunkedBody + HIDDEN),
  ),
)

const lengths = [
  '5, 5',
  '5,5',
  '+5',
  '-5',
  '0x5',
  '5 5',
  '5.0',
  '5e0',
  '1_0',
  '',
  '\u000b5',
  '5\u0000',
  '99999999999999999999',
  '18446744073709551621',
  '5;',
].map((value) =>
  attack(
    'rejected',
    `Content-Length ${JSON.stringify(value)}`,
    post(`Content-Length: ${value}\r\n`, `hello${HIDDEN}`),
  ),
)

const moreLengths = [
  attack(
    'rejected',
    'the same Content-Length twice',
    post('Content-Length: 5\r\nContent-Length: 5\r\n', `hello${HIDDEN}`),
  ),
  attack(
    'rejected',
    'two different Content-Lengths',
    post('Content-Length: 5\r\nContent-Length: 0\r\n', `hello${HIDDEN}`),
  ),
  attack(
    'rejected',
    'a folded Content-Length',
    post('Content-Length:\r\n 5\r\n', `hello${HIDDEN}`),
  ),
  attack(
    'rejected',
    'a blank before the colon of Content-Length',
    post('Content-Length : 5\r\n', `hello${HIDDEN}`),
  ),
  attack(
    'passes',
    'Content-Length with blanks around it',
    post('Content-Length:  5 \r\n', 'hello'),
  ),
  attack('passes', 'Content-Length with leading zeros', post('Content-Length: 0005\r\n', 'hello')),
  attack('passes', 'Content-Length on GET', get('Content-Length: 5\r\n') + 'hello'),
  attack(
    'passes',
    'a chunked body on DELETE',
    `DELETE /mcp HTTP/1.1\r\nHost: pod\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
  ),
  attack(
    'passes',
    'a chunked body on OPTIONS',
    `OPTIONS /mcp HTTP/1.1\r\nHost: pod\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
  ),
  attack(
    'passes',
    'a chunked body on GET',
    `GET /mcp HTTP/1.1\r\nHost: pod\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
  ),
  attack(
    'safe',
    'Transfer-Encoding in HTTP/1.0',
    `POST /mcp HTTP/1.0\r\nHost: pod\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedBody}`,
  ),
  attack(
    'passes',
    'a request inside a body with a length',
    post(`Content-Length: ${HIDDEN.length}\r\n`, HIDDEN),
  ),
  attack(
    'passes',
    'a request inside a chunk',
    chunked(`${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`),
  ),
]

const chunks = [
  ['passes', 'leading zeros in a chunk size', `0000005\r\nhello\r\n0\r\n\r\n`],
  ['passes', 'a chunk extension', `5;a=b\r\nhello\r\n0\r\n\r\n`],
  ['passes', 'a quoted chunk extension', `5;a="b;c"\r\nhello\r\n0;x\r\n\r\n`],
  ['rejected', 'a line end inside a chunk extension', `5;a="\n"\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a bare CR inside a chunk extension', `5;a\rb\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  [
    'rejected',
    'a chunk extension of 64 KiB',
    `5;${'a'.repeat(65_536)}\r\nhello\r\n0\r\n\r\n${HIDDEN}`,
  ],
  ['rejected', 'a chunk size of 17 hex digits', `10000000000000005\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a negative chunk size', `-5\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a chunk size with a sign', `+5\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a chunk size with 0x', `0x5\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a blank before a chunk size', ` 5\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a blank after a chunk size', `5 \r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'an empty chunk size', `\r\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a chunk longer than its size', `5\r\nhello!\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a bare LF after a chunk size', `5\nhello\r\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'a bare LF after a chunk', `5\r\nhello\n0\r\n\r\n${HIDDEN}`],
  ['rejected', 'no last line end', `5\r\nhello\r\n0\r\n${HIDDEN}`],
  ['rejected', 'no last line end, and silence', `5\r\nhello\r\n0\r\n`],
  [
    'safe',
    'framing in a trailer',
    `5\r\nhello\r\n0\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n`,
  ],
  [
    'safe',
    'credentials in a trailer',
    `5\r\nhello\r\n0\r\nHost: other\r\nAuthorization: x\r\n\r\n`,
  ],
  [
    'rejected',
    'a folded trailer',
    `5\r\nhello\r\n0\r\nX: y\r\n Content-Length: 5\r\n\r\n${HIDDEN}`,
  ],
].map(([verdict, name, body]) => attack(verdict as Verdict, name!, chunked(body!)))

/** Attacks on where a body ends. */
export const FRAMING_ATTACKS: readonly Attack[] = [
  ...codings,
  ...both,
  ...codingLines,
  ...lengths,
  ...moreLengths,
  ...chunks,
]

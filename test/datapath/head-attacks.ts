import type { Attack, Verdict } from './attacks.ts'

const HIDDEN = 'GET /hidden HTTP/1.1\r\nHost: pod\r\n\r\n'

type Row = readonly [verdict: Verdict, name: string, bytes: string]

const get = (lines: string): string => `GET /mcp HTTP/1.1\r\nHost: pod\r\n${lines}\r\n`
const line = (target: string, version = 'HTTP/1.1'): string =>
  `GET ${target} ${version}\r\nHost: pod\r\n\r\n`

const rows: readonly Row[] = [
  ['rejected', 'a folded header', get('X-A: b\r\n c\r\n')],
  ['rejected', 'a folded header by tab', get('X-A: b\r\n\tHost: other\r\n')],
  ['rejected', 'a bare LF between headers', get('X-A: b\nX-B: c\r\n')],
  ['rejected', 'bare LFs all through', 'GET /mcp HTTP/1.1\nHost: pod\n\n'],
  ['rejected', 'a bare LF at the end of the head', `GET /mcp HTTP/1.1\r\nHost: pod\r\n\n${HIDDEN}`],
  ['rejected', 'a bare CR in a value', get('X-A: b\rX-B: c\r\n')],
  ['rejected', 'a bare CR at the end of a value', get('X-A: b\r\r\n')],
  ['rejected', 'NUL in a value', get('X-A: b\0c\r\n')],
  ['rejected', 'NUL in a name', get('X-\0A: b\r\n')],
  ['rejected', 'a control character in a value', get('X-A: b\u0001c\r\n')],
  ['rejected', 'DEL in a value', get('X-A: b\u007fc\r\n')],
  ['rejected', 'a blank before a colon', get('X-A : b\r\n')],
  ['rejected', 'a tab before a colon', get('X-A\t: b\r\n')],
  ['rejected', 'a header without a name', get(': b\r\n')],
  ['rejected', 'a header without a colon', get('X-A\r\n')],
  ['rejected', 'a name with a slash', get('X/A: b\r\n')],
  ['rejected', 'a name with brackets', get('X[A]: b\r\n')],
  ['rejected', 'a name outside ASCII', get('X-\u00e4: b\r\n')],
  [
    'rejected',
    'a first header that is folded',
    'GET /mcp HTTP/1.1\r\n Host: other\r\nHost: pod\r\n\r\n',
  ],
  ['rejected', 'two Hosts', get('Host: pod\r\n')],
  ['rejected', 'two different Hosts', get('hOsT: other\r\n')],
  ['safe', 'no Host', 'GET /mcp HTTP/1.1\r\nX-A: b\r\n\r\n'],
  ['safe', 'an empty Host', 'GET /mcp HTTP/1.1\r\nHost:\r\n\r\n'],
  ['safe', 'a Host that is a list', 'GET /mcp HTTP/1.1\r\nHost: pod, other\r\n\r\n'],
  ['safe', 'a Host with a path', 'GET /mcp HTTP/1.1\r\nHost: pod/other\r\n\r\n'],
  ['safe', 'a Host with user info', 'GET /mcp HTTP/1.1\r\nHost: other@pod\r\n\r\n'],
  ['passes', 'no Host in HTTP/1.0', 'GET /mcp HTTP/1.0\r\n\r\n'],
  ['passes', 'the absolute form with the same authority', line('http://pod/mcp')],
  ['rejected', 'the absolute form with another authority', line('http://other/mcp')],
  ['rejected', 'the absolute form with another port', line('http://pod:81/mcp')],
  ['rejected', 'the absolute form with user info', line('http://pod@other/mcp')],
  ['rejected', 'the absolute form with a backslash', line('http://other\\@pod/mcp')],
  ['safe', 'the absolute form with another scheme', line('ftp://pod/mcp')],
  ['rejected', 'the absolute form without an authority', line('http:///mcp')],
  ['safe', 'a target of two slashes', line('//other/mcp')],
  ['rejected', 'the authority form with GET', line('pod:80')],
  ['rejected', 'a target without a slash', line('mcp')],
  ['rejected', 'an asterisk with GET', line('*')],
  ['rejected', 'a blank in the target', line('/a b')],
  ['rejected', 'a tab in the target', line('/a\tb')],
  ['rejected', 'a form feed in the target', line('/a\u000cb')],
  ['rejected', 'NUL in the target', line('/a\0b')],
  ['rejected', 'DEL in the target', line('/a\u007fb')],
  ['rejected', 'a bare CR in the target', line('/a\rb')],
  ['safe', 'bytes outside ASCII in the target', line('/\u00c3\u00a9')],
  ['safe', 'a fragment in the target', line('/a#b')],
  ['rejected', 'no target', 'GET  HTTP/1.1\r\nHost: pod\r\n\r\n'],
  ['rejected', 'a tab between method and target', 'GET\t/mcp HTTP/1.1\r\nHost: pod\r\n\r\n'],
  ['safe', 'two blanks between method and target', 'GET  /mcp HTTP/1.1\r\nHost: pod\r\n\r\n'],
  ['safe', 'two blanks before the version', line('/mcp', ' HTTP/1.1')],
  ['rejected', 'a blank after the version', line('/mcp', 'HTTP/1.1 ')],
  ['rejected', 'HTTP/0.9', 'GET /mcp\r\n\r\n'],
  ['rejected', 'HTTP/0.9 by name', line('/mcp', 'HTTP/0.9')],
  ['rejected', 'HTTP/1.2', line('/mcp', 'HTTP/1.2')],
  ['rejected', 'HTTP/2.0', line('/mcp', 'HTTP/2.0')],
  ['rejected', 'HTTP/1.10', line('/mcp', 'HTTP/1.10')],
  ['rejected', 'HTTP/01.1', line('/mcp', 'HTTP/01.1')],
  ['rejected', 'http/1.1', line('/mcp', 'http/1.1')],
  ['rejected', 'ICE/1.0', line('/mcp', 'ICE/1.0')],
  ['rejected', 'the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['rejected', 'CONNECT', 'CONNECT pod:80 HTTP/1.1\r\nHost: pod:80\r\n\r\n'],
  [
    'rejected',
    'CONNECT with a hidden request',
    `CONNECT pod:80 HTTP/1.1\r\nHost: pod:80\r\n\r\n${HIDDEN}`,
  ],
  ['rejected', 'a method in lower case', 'get /mcp HTTP/1.1\r\nHost: pod\r\n\r\n'],
  ['rejected', 'a method with a control character', 'GE\u0001T /mcp HTTP/1.1\r\nHost: pod\r\n\r\n'],
  [
    'rejected',
    'bytes of a TLS hello',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  ],
  ['safe', 'blank lines before the request', `\r\n\r\n${get('')}`],
  [
    'safe',
    'an h2c offer',
    get(
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n',
    ),
  ],
]

/** Attacks on the head of a request. */
export const HEAD_ATTACKS: readonly Attack[] = rows.map(([verdict, name, bytes]) => ({
  verdict,
  name,
  bytes,
}))

import { globPrefix } from '../../base/glob.ts'
import { isExemptPath } from '../../http/exempt-path.ts'
import type { HttpSpec, StatusSpec } from '../file/match-spec.ts'
import { showValue } from './match-test.ts'
import type { MatchTest } from './match-test.ts'
import { compileText } from './text-match.ts'

/**
 * The tests of an HTTP exchange. Health probes, OAuth and discovery are matched only where the rule's
 * path names them, and preflights only where its method does.
 */
export function httpTests(spec: HttpSpec): MatchTest[] {
  const { method, path, status } = spec
  const tests: MatchTest[] = []
  const methods = method === undefined ? undefined : compileText(method)
  tests.push({
    dimension: 'http.method',
    wants: methods?.wants ?? 'any but OPTIONS',
    test: ({ http }) =>
      http.method === 'OPTIONS'
        ? methods !== undefined && methods.exact.includes('OPTIONS')
        : methods === undefined || methods.test(http.method),
    found: ({ http }) => http.method,
  })
  const paths = path === undefined ? undefined : compileText(path)
  const naming = paths?.globs.filter((glob) => isExemptPath(globPrefix(glob))) ?? []
  const named = naming.length === 0 ? undefined : compileText(naming)
  tests.push({
    dimension: 'http.path',
    wants: paths?.wants ?? 'any but health probes, OAuth and /.well-known',
    test({ http }) {
      if (!isExemptPath(http.path)) return paths === undefined || paths.test(http.path)
      if (paths === undefined) return false
      return paths.exact.includes(http.path) || (named !== undefined && named.test(http.path))
    },
    found: ({ http }) => showValue(http.path),
  })
  if (status !== undefined) tests.push(statusTest([status].flat()))
  return tests
}

function statusTest(wanted: readonly StatusSpec[]): MatchTest {
  const exact = new Set<number>()
  const classes = new Set<number>()
  for (const status of wanted) {
    const text = String(status)
    if (/^[1-5]xx$/i.test(text)) classes.add(Number(text[0]))
    else exact.add(Number(text))
  }
  return {
    dimension: 'http.status',
    wants: wanted.join(' or '),
    test: ({ status }) =>
      status !== undefined && (exact.has(status) || classes.has(Math.floor(status / 100))),
    found: ({ status }) => showValue(status),
  }
}

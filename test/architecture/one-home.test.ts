import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { sourceFiles } from './source-files.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const texts = new Map<string, string>()
for (const path of await sourceFiles()) {
  const name = path.replace(/^src\//, '')
  if (/\.[jt]s$/.test(path)) texts.set(name, await readFile(join(ROOT, path), 'utf8'))
}

/** The places outside `home` where a line matches, as `file: line`. */
function elsewhere(idea: RegExp, ...homes: readonly string[]): string[] {
  return [...texts]
    .filter(([path]) => !homes.some((home) => path.startsWith(home)))
    .flatMap(([path, text]) =>
      text
        .split('\n')
        .filter((line) => idea.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    )
}

// Each of these was written several times, and the copies disagreed. To use the idea, import it.
it.each([
  [
    'what a terminal obeys (base/text/foreign-text.ts)',
    /\\p\{(?:C|Z)[a-z]?\}|\\u(?:0000|001f|007f|009f)-|-\\u(?:001f|009f)|\\u20(?:0b|2[89ae])|\\u206[069]|\\x(?:7f|9f|1b)[-\]]/,
    // The page of the admin port is served as it is and cannot import. `mcp/body-ambiguity.ts`
    // looks for keys that decoders read in different ways.
    ['base/text/', 'admin/page/format.js', 'mcp/body-ambiguity.ts'],
  ],
  [
    'what is a JSON object (base/values.ts)',
    /!== null && !Array\.isArray\(|=== null \|\| Array\.isArray\(|function (?:isRecord|isObject|isMap)\(/,
    ['base/values.ts'],
  ],
  [
    'JSON Pointers (base/json/json-pointer.ts)',
    /replaceAll\('~[01]?', /,
    ['base/json/json-pointer.ts'],
  ],
  [
    'equality of JSON values (base/values.ts)',
    /isDeepStrictEqual\(|function (?:isEqual|deepEqual)\(one/,
    // These are not JSON: certificates are bytes.
    ['base/values.ts', 'listener/front/tls-files.ts'],
  ],
  [
    'units of time and size (base/units.ts)',
    /\['ms', 1\]|=== 'ms' \? 1|\['KiB', 1024\]|endsWith\('%'\) \? text/,
    ['base/units.ts'],
  ],
  [
    'the text of metrics (telemetry/text-format.ts)',
    /`# (?:HELP|TYPE) /,
    ['telemetry/text-format.ts'],
  ],
  [
    'whether rules may act on an exchange (rules/select/inactive-reason.ts)',
    /[sS]tates\??\.(?:isDenied|isExcluded)\b|enabled (?:&&|\|\||\?).*disarmed/,
    ['rules/select/inactive-reason.ts'],
  ],
  [
    'signals that abort after a time or with another one (base/deadline.ts)',
    /AbortSignal\.any\(\[[^\]]*AbortSignal\.timeout/,
    ['base/deadline.ts'],
  ],
  [
    'watching of files (base/watch/directory-watches.ts)',
    /import\('chokidar'\)|\bwatch(?:File)?\b.* from '(?:node:fs(?:\/promises)?|chokidar)'/,
    ['base/watch/directory-watches.ts'],
  ],
] as const)('%s has one home', (_, idea, homes) => {
  expect(elsewhere(idea, ...homes)).toEqual([])
})

it('the admin page spells out the same characters as the program', () => {
  const classOf = (path: string): string | undefined =>
    /^const UNSEEN = (.*)$/m.exec(texts.get(path) ?? '')?.[1]
  expect(classOf('admin/page/format.js')).toBe(classOf('base/text/foreign-text.ts'))
})

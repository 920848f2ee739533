import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Texts that people read: documents, help, messages, descriptions of schemas, and comments. */
const texts = new Map<string, string>()
for (const directory of ['src', 'docs', 'examples']) {
  for (const path of (await readdir(join(ROOT, directory), { recursive: true })).sort()) {
    // Decisions keep the words of their time.
    if (!/\.(?:[jt]s|md|yaml)$/.test(path) || /decisions\/|notes\//.test(path)) continue
    texts.set(`${directory}/${path}`, await readFile(join(ROOT, directory, path), 'utf8'))
  }
}
for (const path of ['README.md', 'CONTRIBUTING.md', 'SECURITY.md']) {
  texts.set(path, await readFile(join(ROOT, path), 'utf8'))
}

// One word for one thing, and the word of HTTP, MCP, Kubernetes or Prometheus where one exists.
it.each([
  ['response', /\b(?:an|the|its|no|each|every|whole|JSON|HTTP) answers?\b/i],
  ['protocol version', /\b[Rr]evisions?\b/],
  ['directory', /\bfolders?\b/i],
  ['active', /\bin force\b/i],
  ['integer', /\bwhole numbers?\b/i],
  ['boolean', /\btruth values?\b/i],
  ['required', /\bmust be given\b/i],
  ['schema violation', /\bmisfits?\b/i],
  ['in-flight requests', /\bledgers?\b|\bpending calls\b/i],
  ['protocol version', /\beras?\b/i],
  ['dry run', /(?<!box-)\bshadows?\b/i],
  ['fix', /\bmend(?:s|ed|ing)?\b/i],
  ['error', /\bslips?\b/i],
  ['reported, logged, shown', /\btold\b/i],
  [
    'matched, sampled, injected',
    /\b(?:rules?|draws?|calls?|never|no|without a|that it|faults?) hits?\b|\bdrawn (?:calls?|rules?)\b|\bmayHit\b|\.hits\b/i,
  ],
  ['upstream connection', /\blanes?\b/i],
  [
    'passed, failed (of gates, thresholds, experiments)',
    /breach|\b(?:gates?|thresholds?|slo|verdicts?|experiments?|steady state)\W+(?:\w+ ){0,3}(?:held|holds?)\b/i,
  ],
  ['fast path, standard path', /\b(?:splice|general) engine\b/i],
])('people read %s, and no other word for it', (_word, avoided) => {
  const found = [...texts].flatMap(([path, text]) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        avoided.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
      ),
  )
  expect(found).toEqual([])
})

it('no comment begins with a question word, Of or As of', () => {
  const found = [...texts].flatMap(([path, text]) =>
    path.startsWith('src/')
      ? [
          ...text.matchAll(
            /(?:\/\*\*+|\/\/)\s*(?:\*\s*)?(?:What|Who|Whoever|Whose|Whom|Whether|How|Of|As of)\b.*/g,
          ),
        ]
          // A line that continues the comment above.
          .filter(({ index }) => !/\/\/.*\n\s*$/.test(text.slice(0, index).slice(-200)))
          .map(([comment]) => `${path}: ${comment}`)
      : [],
  )
  expect(found).toEqual([])
})

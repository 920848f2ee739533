import { describe, expect, it } from 'vitest'
import {
  foreign,
  foreignCell,
  hasUnseen,
  oneLine,
  plain,
  plainJson,
  quoted,
} from '../../../src/base/text/foreign-text.ts'

// A terminal obeys escape sequences, and a reader is misled by text whose order or extent is not
// what it seems. Each of these once passed some message, log or screen.
const corpus: readonly (readonly [string, string])[] = [
  ['an escape sequence', 'a\u001b[2Jb'],
  ['a C1 sequence introducer', 'a\u009b2Jb'],
  ['a bell, a backspace and DEL', 'a\u0007\u0008\u007fb'],
  ['NUL', 'a\0b'],
  ['a carriage return over the line', 'good\rbad'],
  ['another line', 'a\nlevel=info b'],
  ['NEL', 'a\u0085b'],
  ['line and paragraph separators', 'a\u2028\u2029b'],
  ['a direction override', 'gpj\u202eexe.txt\u202c'],
  ['embeddings', 'a\u202a\u202b\u202db'],
  ['isolates', 'a\u2066\u2067\u2068b\u2069'],
  ['direction marks', 'a\u200e\u200f\u061cb'],
  ['zero-width characters', 'ad\u200bmi\u200cn\u200d\u2060\ufeff'],
  ['a soft hyphen', 'ad\u00admin'],
  ['tag characters', 'a\u{e0041}b'],
  ['private use', 'a\ue000b'],
  ['lone surrogates', 'a\ud800b\udc00'],
]
// Written apart from the code under test, as ranges.
const bad =
  // oxlint-disable-next-line no-control-regex
  /[\0-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ue000-\uf8ff\u{e0000}-\u{e007f}]|[\ud800-\udfff]/u

describe('text from elsewhere', () => {
  it.each(corpus)('spells out %s everywhere', (_, text) => {
    for (const shown of [
      plain(text),
      foreign(text),
      foreignCell(text),
      quoted(text),
      oneLine(text),
    ]) {
      expect(shown).not.toMatch(bad)
    }
    const json = plainJson(JSON.stringify({ [text]: text }))
    expect(json).not.toMatch(bad)
    expect(JSON.parse(json)).toEqual({ [text]: text })
    expect(hasUnseen(text)).toBe(true)
  })

  it('leaves what people write as it is', () => {
    for (const text of ['plain ascii', 'Größe 10 µs', '日本語', 'नमस्ते', 'e\u0301', '🦑', '']) {
      expect(plain(text)).toBe(text)
      expect(hasUnseen(text)).toBe(false)
    }
  })

  it('says which character stood there, and spells out twice what it spelled once', () => {
    expect(plain('a\u202eb')).toBe('a\\u{202e}b')
    expect(plain(plain('a\u202eb'))).toBe('a\\u{202e}b')
    expect(quoted('a "b"\n')).toBe('"a \\"b\\"\\n"')
    expect(foreignCell('e\u0301')).toBe('e\\u{301}')
  })

  it('puts a message on one line', () => {
    expect(oneLine(' one\r\n\ttwo  three\n')).toBe('one two  three')
  })

  it('bounds what it shows', () => {
    const long = '\u202e'.repeat(100_000)
    expect(oneLine(long, 300)).toHaveLength(300)
    expect(foreign('x'.repeat(1000), 10)).toBe(`${'x'.repeat(10)}…`)
    expect(quoted(long).length).toBeLessThan(80 * 9)
  })
})

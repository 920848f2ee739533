import { describe, expect, it } from 'vitest'
import { benchModule, measured, type Measured } from './bench-modules.ts'

const { chartsOf } = await benchModule('charts.mjs')
const { scaleEnd } = await benchModule('lib/bar-chart.mjs')

/** Elements that are opened and not closed in turn, and marks that stand bare in text. */
function illFormed(svg: string): string[] {
  const wrong: string[] = []
  const open: string[] = []
  for (const [, close, name, , empty] of svg.matchAll(
    /<(\/?)([a-z]+)((?:"[^"]*"|[^">])*?)(\/?)>/g,
  )) {
    if (close === '/' && open.pop() !== name) wrong.push(`</${name}>`)
    else if (close === '' && empty === '') open.push(name!)
  }
  const bare = svg.replaceAll(/<[^>]+>/g, '').match(/[<>]|&(?!amp;|lt;|gt;|quot;)/g) ?? []
  return [...wrong, ...open, ...bare]
}

/** Widths of the bars, from top to bottom. */
function widths(svg: string): number[] {
  return Array.from(svg.matchAll(/<rect class="(?:ours|other) [^>]*width="([\d.]+)"/g), ([, w]) =>
    Number(w),
  )
}

function texts(svg: string, kind: string): string[] {
  const found = svg.matchAll(new RegExp(`<text class="${kind}[^>]*>([^<]*)</text>`, 'g'))
  return Array.from(found, ([, text]) => text!)
}

const SMALL: Measured[] = [
  measured('squall', [20, 22, 24]),
  measured('a<b & "c"', [40, 40, 40]),
  measured('slow', [900, 900, 900]),
  measured('direct', [undefined]),
  measured('least', [10, 10, 10]),
]

describe('the pictures of the bench', () => {
  it('show every proxy, the cheapest first, with bars in proportion', () => {
    const [{ svg, text, file }] = chartsOf('small', SMALL) as [ReturnType<typeof chartsOf>[0]]
    expect(file).toBe('cpu')
    expect(texts(svg, 'label')).toEqual(['least', 'squall', 'a&lt;b &amp; &quot;c&quot;', 'slow'])
    expect(texts(svg, 'value')).toEqual(['10.0', '22.0', '40.0', '900.0 (bar cut)'])
    const [least, squall, other, slow] = widths(svg)
    expect(squall! / least!).toBeCloseTo(2.2, 2)
    expect(other! / least!).toBeCloseTo(4, 2)
    expect(slow).toBe(other)
    expect(text).toBe(
      'CPU for a small call, in µs: least 10.0; squall 22.0; a<b & "c" 40.0; slow 900.0.',
    )
  })

  it('are well-formed, say in words what they show, follow dark pages, and run nothing', () => {
    for (const { svg } of chartsOf('small', SMALL)) {
      expect(illFormed(svg)).toEqual([])
      expect(svg).toMatch(/<desc id="about">[^<]*squall 22\.0[^<]*<\/desc>/)
      expect(svg).toContain('aria-labelledby="title about"')
      expect(svg).toContain('prefers-color-scheme: dark')
      expect(svg).not.toMatch(/<script|href|url\(|\bon\w+=/)
    }
    expect(illFormed('<a><b></a>')).not.toEqual([])
  })

  it('show several figures of one proxy beside each other, and the target as a line', () => {
    const rows = [
      measured('direct', [undefined]),
      measured('squall', [1], { p50Ms: 1.1, p99Ms: 2.2, p999Ms: 3.4 }),
    ]
    const [{ svg }] = chartsOf('half-load', rows) as [ReturnType<typeof chartsOf>[0]]
    expect(illFormed(svg)).toEqual([])
    expect(texts(svg, 'value')).toEqual(['0.10', '0.20', '0.40'])
    expect(svg.match(/class="mark"/g)).toHaveLength(1)
    expect(texts(svg, 'named')).toEqual(['target for p99: 0.3 ms'])
  })

  it('are not drawn of nothing', () => {
    expect(chartsOf('small', [])).toEqual([])
    expect(chartsOf('half-load', [measured('squall', [1])])).toEqual([])
  })

  it('let one value out of all proportion not make the others look alike', () => {
    expect(scaleEnd([10, 20, 50, 900], 0)).toBe(50)
    expect(scaleEnd([10, 20, 55], 0)).toBe(55)
    expect(scaleEnd([1, 2], 12)).toBe(12)
    expect(scaleEnd([0, -1], 0)).toBe(1)
  })
})

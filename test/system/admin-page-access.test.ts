// part: browser
import { createRequire } from 'node:module'
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { busy, eachInBrowser, open, page, PHONE, WIDE } from './admin-page.ts'
import { HOSTILE, RULES } from './busy-squall.ts'

const MISTAKEN = RULES.replace('percent: 40', 'percnt: 40')

eachInBrowser()

describe('the admin page for everybody', () => {
  it('takes names that others gave for what they are', async () => {
    await busy.ask(HOSTILE)
    await busy.ask('\u0000\u0007')
    await open()
    await page.reads('#tools-rows', /<img src=x onerror=/)
    expect(await page.evaluate<number>(`document.querySelectorAll('img').length`)).toBe(0)
    expect(await page.evaluate<string>('document.title')).toBe('Armed · Squall')
  })

  it('works with the keyboard alone', async () => {
    await open()
    const seen: string[] = []
    for (let i = 0; i < 80 && seen.at(-1) !== 'tool'; i++) {
      await page.press('Tab')
      const [id, outlined] = await page.evaluate<[string, boolean]>(FOCUSED)
      seen.push(id)
      expect([id, outlined]).toEqual([id, true])
    }
    const order = ['pause', 'theme', 'token', 'reason', 'disarm', 'arm', 'tool']
    expect(seen.filter((id) => order.includes(id))).toEqual(order)
    expect(seen[0]).toBe('skip')
    await page.evaluate(`document.querySelector('#pause').focus()`)
    await page.press('Enter')
    await page.reads('#feed', /Paused/)
    expect(await page.evaluate(`document.querySelector('#pause').ariaPressed`)).toBe('true')
  })

  it('keeps the theme that was chosen', async () => {
    await open()
    const back = `getComputedStyle(document.body).backgroundColor`
    const light = await page.evaluate<string>(back)
    await page.evaluate(`(() => {
      const select = document.querySelector('#theme')
      select.value = 'dark'
      select.dispatchEvent(new Event('change'))
    })()`)
    const dark = await page.evaluate<string>(back)
    expect(dark).not.toBe(light)
    await page.open(`${busy.squall.admin}/?again`)
    expect(await page.evaluate<string>(back)).toBe(dark)
    await page.evaluate('localStorage.clear()')
  })

  it.each([
    ['light', WIDE],
    ['dark', WIDE],
    ['light', PHONE],
    ['dark', PHONE],
  ] as const)('has no barrier: %s, %j', async (scheme, [width, height]) => {
    await page.look(width, height, scheme)
    busy.startCalls()
    await busy.ask('send_mail')
    await open()
    await busy.mounted.swap(MISTAKEN)
    busy.squall.running.rules!.arming.disarm('guard', 'too many real errors')
    await page.reads('#problems', /percnt/)
    await page.reads('#faults-rows', /slow-search/)
    await page.evaluate(await readFile(AXE, 'utf8'))
    await page.reads('#errors-rows', /no such row/)
    const found = await page.evaluate<readonly Violation[]>(`axe.run().then(({ violations }) =>
      violations.map(({ id, nodes }) => ({ id, at: nodes.map((n) => n.html) })))`)
    expect(found).toEqual([])
  })
})

interface Violation {
  readonly id: string
  readonly at: readonly string[]
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Finds the element that has the focus, and checks whether the focus is visible. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const name = element.id || element.className || element.textContent.trim()
  return [name, outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2]
})()`

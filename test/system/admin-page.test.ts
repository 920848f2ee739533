import { createRequire } from 'node:module'
import { mkdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type BusySquall, HOSTILE, RULES, TOKEN } from './busy-squall.ts'
import { type Browser, startBrowser, type BrowserPage } from '../support/browser.ts'
import { PATIENCE } from './patience.ts'
import { startSquall } from '../support/squall.ts'

const PICTURES = fileURLToPath(new URL('../../build/admin-page/', import.meta.url))
const WIDE = [1280, 900] as const
const PHONE = [360, 740] as const
const MISTAKEN = RULES.replace('percent: 40', 'percnt: 40')
const LINE = MISTAKEN.slice(0, MISTAKEN.indexOf('percnt')).split('\n').length

let chromium: Browser
let busy: BusySquall
let page: BrowserPage

beforeAll(async () => {
  await mkdir(PICTURES, { recursive: true })
  chromium = await startBrowser()
})

afterAll(() => chromium?.close())

beforeEach(async () => {
  busy = await startSquall({ scene: 'busy' })
  page = await chromium.openTab()
  await page.look(...WIDE, 'light')
})

afterEach(async () => {
  const { complaints, requests } = page
  const { admin } = busy.squall
  await page.close()
  await busy.close()
  expect(complaints).toEqual([])
  expect(
    requests.filter((url) => !url.startsWith(`${admin}/`) && !url.startsWith('data:')),
  ).toEqual([])
})

/** Opens the page and waits until it has shown something. */
async function open(): Promise<void> {
  await page.open(`${busy.squall.admin}/`)
  await page.reads('#feed', /Live/)
}

describe('the admin page in a browser', () => {
  it('shows what is going on without being asked again', async () => {
    await open()
    await page.reads('#armed', /^Armed$/)
    await page.reads('#reload-result', /^Active$/)
    await page.reads('#tools-rows', /No call has ended yet/)
    busy.startCalls()
    await page.reads(
      '#rules-rows tr:nth-child(1)',
      /slow-search[^]*delay[^]*40 %[^]*[1-9]\d*[^]*On/,
    )
    await page.reads('#rules-rows tr:nth-child(3)', /never-called[^]*100 %[^]*Idle/)
    await page.reads('#rules-about', /1 of 5 sampled no call yet/)
    await page.reads('#tools-rows', /query_db\s+\d+\s+\d+\s+[1-9]/)
    await page.reads(
      '#faults-rows',
      /flaky-db[^]*abort[^]*query_db[^]*id \d+[^]*session [0-9a-f]{8}/,
    )
    await page.reads('#numbers', /Real errors\/s\s+[\d.]*[1-9][^]*Injected errors\/s\s+[\d.]*[1-9]/)
    await page.reads('#latency-legend', /Client p95 \d+ ms/)
    const label = `document.querySelector('#errors-chart').getAttribute('aria-label')`
    await eventually(async () => {
      const reported = await page.evaluate<string>(label)
      return /Real [\d.]*[1-9].*Injected [\d.]*[1-9]/.test(reported) ? undefined : reported
    }, PATIENCE)
    expect(await page.evaluate<boolean>(DRAWN)).toBe(true)
    await page.reads('#faults-about', /The last 50 of/)
    await page.screenshot(`${PICTURES}light.png`)
  })

  it('shows the numbers of one tool alone', async () => {
    busy.startCalls()
    await open()
    await page.reads('#numbers', /Injected errors\/s\s+[\d.]*[1-9]/)
    await page.evaluate(`(() => {
      const select = document.querySelector('#tool')
      select.value = '=search_docs'
      select.dispatchEvent(new Event('change'))
    })()`)
    await page.reads('#numbers', /Injected errors\/s\s+0[^]*p95 for clients\s+\d+ ms/)
  })

  it('shows a mistake in the rules with its line, and that the old ones stay', async () => {
    await open()
    await busy.mounted.swap(MISTAKEN)
    await page.reads('#reload-result', /^Rejected$/)
    await page.reads('#reload-about', /1 error\. Version 1 of .* stays active/)
    await page.reads('#problems', new RegExp(`rules\\.yaml:${LINE}:5\\s+unknown key "percnt"`))
    busy.startCalls()
    await page.reads('#rules-rows', /slow-search/)
    await page.look(...WIDE, 'dark')
    await page.reads('#numbers', /Injected errors\/s\s+[\d.]*[1-9]/)
    await page.screenshot(`${PICTURES}dark.png`)
    await page.look(...PHONE, 'light')
    await page.screenshot(`${PICTURES}phone.png`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE[0])
    expect(await page.evaluate<string[]>(TOO_WIDE)).toEqual([])
    await busy.mounted.swap(RULES.replace('percent: 40', 'percent: 41'))
    await page.reads('#reload-result', /^Active$/)
    expect(await page.text('#problems')).toBe('')
  })

  it('disarms and arms with the token, and not without', async () => {
    await open()
    await busy.ask('send_mail')
    await busy.ask('search_docs')
    await page.reads('#armed', /^Armed$/)
    await page.click('#disarm')
    await page.reads('#changed', /Type the admin token first/)
    await page.type('#token', `${TOKEN}x`)
    await page.click('#disarm')
    await page.reads('#changed', /not the admin token\. Nothing was changed/)
    expect(busy.squall.running.rules!.arming.armed).toBe(true)
    await page.type('#token', TOKEN)
    await page.type('#reason', 'a deploy <b>now</b>')
    await page.click('#disarm')
    await page.reads('#armed', /^Disarmed$/)
    await page.reads('#armed-about', /^No rule acts\./)
    await page.reads('#changed', /^Disarmed\.$/)
    await page.reads('#reasons', /By an operator, .*: a deploy <b>now<\/b>/)
    await page.reads('#announce', /Disarmed\. By an operator/)
    expect(busy.squall.running.rules!.arming.armed).toBe(false)
    expect(await page.evaluate<string>('document.title')).toBe('Disarmed · Squall')
    await page.screenshot(`${PICTURES}disarmed.png`)
    await page.click('#arm')
    await page.reads('#armed', /^Armed$/)
    expect(busy.squall.running.rules!.arming.armed).toBe(true)
    expect(page.requests.join()).not.toContain(TOKEN)
    expect(JSON.stringify(busy.squall.logs)).not.toContain(TOKEN)
    expect(await page.evaluate<string>('location.href')).toBe(`${busy.squall.admin}/`)
    // The refused try is the one thing that a browser complains about by itself.
    page.forgive(/status of 401/)
  })

  it('says so when somebody else disarms, and why arming is refused', async () => {
    await open()
    busy.squall.running.rules!.arming.disarm('guard', 'real errors at 9 %')
    await page.reads('#armed', /^Disarmed$/)
    await page.reads('#announce', /By the guard, .*: real errors at 9 %/)
    busy.squall.running.rules!.arming.disarm('environment', 'this is production')
    await page.reads('#reasons', /By the environment/)
    await page.type('#token', TOKEN)
    await page.click('#arm')
    await page.reads('#changed', /nothing was changed · environment: this is production/)
    page.forgive(/status of 409/)
  })

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
    for (let i = 0; i < 16; i++) {
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
  ] as const)('has no serious barrier: %s, %j', async (scheme, [width, height]) => {
    await page.look(width, height, scheme)
    busy.startCalls()
    await open()
    await busy.mounted.swap(MISTAKEN)
    busy.squall.running.rules!.arming.disarm('guard', 'too many real errors')
    await page.reads('#problems', /percnt/)
    await page.reads('#faults-rows', /slow-search/)
    await page.evaluate(await readFile(AXE, 'utf8'))
    const found = await page.evaluate<readonly Violation[]>(`axe.run().then(({ violations }) =>
      violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.map((n) => n.html) })))`)
    expect(found.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([])
  })

  it('says that it hears nothing any more when Squall has ended', async () => {
    await open()
    await busy.squall.close()
    await page.reads('#feed', /No connection/)
    page.forgive(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/)
  })

  it('continues by itself when Squall is back at the same port', async () => {
    await open()
    await busy.ask('query_db')
    await page.reads('#tools-rows', /query_db/)
    await busy.squall.close()
    await page.reads('#feed', /No connection/)
    const place = new URL(busy.squall.admin).host
    const next = await startSquall({
      rules: RULES.replace('flaky-db', 'after-the-restart'),
      flags: ['--admin', place],
    })
    try {
      await page.reads('#feed', /Live/)
      await page.reads('#rules-rows', /after-the-restart/)
      // What the process before had counted is not shown as if this one had.
      await page.reads('#tools-rows', /No call has ended yet/)
      await next.ask('send_mail')
      await page.reads('#tools-rows', /send_mail\s+1/)
      await next.ask('send_mail')
      await page.reads('#numbers', /Calls\/s\s+[\d.]*[1-9]/)
    } finally {
      await next.close()
    }
    page.forgive(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/)
  })
})

interface Violation {
  readonly id: string
  readonly impact: string
  readonly at: readonly string[]
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Whether something is drawn on each canvas. */
const DRAWN = `[...document.querySelectorAll('canvas')].length === 2 &&
  [...document.querySelectorAll('canvas')].every((canvas) => canvas.getContext('2d')
    .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0))`

/** What is cut off at the right, other than within a part that can be scrolled. */
const TOO_WIDE = `[...document.querySelectorAll('main *')]
  .filter((element) => element.closest('.scroll, .hidden, .chart') === null)
  .filter((element) => element.getBoundingClientRect().right > innerWidth)
  .map((element) => element.outerHTML.slice(0, 100))`

/** What has the focus, and whether that can be seen. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const { outlineStyle, outlineWidth } = getComputedStyle(element)
  const name = element.id || element.className || element.textContent.trim()
  return [name, outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2]
})()`

// part: browser
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startSquall } from '../support/commands.ts'
import { busy, eachInBrowser, open, page, PHONE, PICTURES, WIDE } from './admin-page.ts'
import { RULES, TOKEN } from './busy-squall.ts'
import { PATIENCE } from './patience.ts'

const MISTAKEN = RULES.replace('percent: 40', 'percnt: 40')
const LINE = MISTAKEN.slice(0, MISTAKEN.indexOf('percnt')).split('\n').length

eachInBrowser()

describe('the admin page in a browser', () => {
  it('shows what is going on without being asked again', async () => {
    await open()
    await page.reads('#armed', /^Armed$/)
    await page.reads('#reload-result', /^Active$/)
    await page.reads('#tools-rows', /No completed calls yet/)
    busy.startCalls()
    await page.reads(
      '#rules-rows tr:nth-child(1)',
      /slow-search[^]*delay[^]*40 %[^]*[1-9]\d*[^]*On/,
    )
    await page.reads('#rules-rows tr:nth-child(3)', /never-called[^]*100 %[^]*Idle/)
    await page.reads('#rules-about', /1 of 5 rules have sampled no call yet/)
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
    await page.reads('#errors-rows', /query_db\s+tool_error\s+no such row[^]*Real/)
    await page.reads('#errors-rows', /connection to db-7 lost[^]*Injected\s+flaky-db · abort/)
    const colours = ['real', 'injected'].map(
      (origin) =>
        `getComputedStyle(document.querySelector('[data-origin=${origin}] .origin')).color`,
    )
    const plain = 'getComputedStyle(document.body).color'
    const shown = await page.evaluate<string[]>(`[${[...colours, plain].join()}]`)
    expect(new Set(shown).size).toBe(3)
    const bold = await page.evaluate<string[]>(
      `[...document.querySelectorAll('#tools-rows .number')]
        .filter((cell) => getComputedStyle(cell).fontWeight === '700').map((cell) => cell.textContent)`,
    )
    expect(bold).not.toEqual([])
    expect(bold).not.toContain('0')
    await page.screenshot(`${PICTURES}light.png`)
  })

  it('shows rules and tools on the first screen of a laptop', async () => {
    await page.look(1366, 768, 'light')
    await open()
    busy.startCalls()
    await page.reads('#rules-rows', /match: /)
    await page.reads('#tools-rows', /query_db\s+\d/)
    const bottom = `document.querySelector('#tools-rows tr').getBoundingClientRect().bottom`
    expect(await page.evaluate<number>(bottom)).toBeLessThan(768)
    await page.screenshot(`${PICTURES}laptop.png`, [1366, 768])
  })

  it('shows the same moment in all its parts', async () => {
    await open()
    busy.startCalls()
    await page.reads('#errors-about', /^\d{2,} errors since the start/)
    await page.click('#pause')
    const total = parseInt((await page.text('#errors-about')).replaceAll(',', ''), 10)
    const sum = await page.evaluate<number>(`[...document.querySelectorAll('#tools-rows tr')]
      .flatMap(({ cells }) => [2, 3, 4, 5].map((i) => Number(cells[i].textContent)))
      .reduce((a, b) => a + b, 0)`)
    const left = await page.evaluate<number>(`[...document.querySelectorAll('[data-origin=client]')]
      .reduce((all, { cells }) => all + Number(cells[3].textContent), 0)`)
    expect(sum + left).toBe(total)
  })

  it('shows what agents did after faults, and how their tasks ended', async () => {
    await open()
    await page.reads('#tasks-numbers', /Open\s+0/)
    busy.startCalls()
    await page.reads('#tasks-rows', /trip-\d-\d+\s+header\s+retried\s+after abort on query_db/)
    await page.reads('#tasks-rows', /switched tool\s+after real on/)
    await page.reads('#tasks-numbers', /Recovered\s+[1-9][^]*Retries per task\s+0\.[0-9]/)
    await page.reads('#tasks-about', /^The last \d+ tasks? with faults or errors/)
    await page.reads(
      '#findings',
      /\.\nUse exponential back-off with jitter\.\nmedium · a client without a name/,
    )
    await page.evaluate(`document.querySelector('#tasks').scrollIntoView()`)
    await page.screenshot(`${PICTURES}tasks-light.png`)
    await page.look(...WIDE, 'dark')
    await page.screenshot(`${PICTURES}tasks-dark.png`)
    await page.look(...PHONE, 'light')
    await page.evaluate(`document.querySelector('#tasks').scrollIntoView()`)
    await page.screenshot(`${PICTURES}tasks-phone.png`)
  })

  it('shows which sidecar it is, and what each rule matches and does', async () => {
    await open()
    const upstream = busy.app.url.replaceAll('.', '\\.')
    await page.reads(
      '#place',
      new RegExp(
        `Environment\\s+staging\\s+Listens on\\s+127\\.0\\.0\\.1:\\d+ → ${upstream} and 1 more\\s+Version`,
      ),
    )
    await page.reads(
      '#rules-rows tr:nth-child(1)',
      /slow-search\s+match: \{ tool: search_\* \}, percent: 40, faults: \[delay: \{ fixed: 120ms/,
    )
  })

  it('has the charts of the last minutes when it is opened again', async () => {
    busy.startCalls()
    const points = `document.querySelector('#errors-chart').getAttribute('aria-label')`
    await open()
    await page.reads('#numbers', /Calls\/s\s+[\d.]*[1-9]/)
    // The sidecar keeps a point every five seconds.
    await eventually(async () => {
      const history = await (await fetch(`${busy.squall.admin}/api/history`)).json()
      return (history as { at: number[] }).at.length > 2 ? undefined : 'no history yet'
    }, PATIENCE)
    await page.open(`${busy.squall.admin}/?again`)
    await eventually(async () => {
      const reported = await page.evaluate<string>(points)
      return /Real [\d.]*[1-9]|Injected [\d.]*[1-9]/.test(reported) ? undefined : reported
    }, PATIENCE)
    expect(page.requests.filter((url) => url.endsWith('/api/history'))).toHaveLength(2)
  })

  it('shows the errors and faults of one rule, by a link', async () => {
    busy.startCalls()
    await open()
    await page.reads('#errors-rows', /flaky-db/)
    await page.reads('#errors-rows', /no such row/)
    await page.reads('#rules-rows', /match: /)
    await page.click('#rules-rows tr:nth-child(2) a')
    await page.reads('#errors-filter', /^Filtered by rule flaky-db\. Show all$/)
    await page.reads('#errors-rows', /^(?![^]*no such row)[^]*connection to db-7 lost/)
    await page.reads('#faults-rows', /^(?![^]*slow-search)[^]*flaky-db/)
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('errors-title')
    await page.click('#errors-filter a')
    await page.reads('#errors-rows', /no such row/)
    expect(await page.text('#errors-filter')).toBe('')
  })

  it('sorts its tables by column, and says so', async () => {
    for (const tool of ['search_docs', 'send_mail', 'send_mail', 'archive_everything']) {
      await busy.ask(tool)
    }
    await open()
    const first = (pattern: RegExp): Promise<void> =>
      page.reads('#tools-rows tr:first-child', pattern)
    const order = `document.querySelector('#tools th[data-column=calls]').ariaSort`
    await first(/^archive_everything/)
    // The texts of the rules move the table down.
    await page.reads('#rules-rows', /match: /)
    await page.click('#tools th[data-column=calls] button')
    await first(/^send_mail/)
    expect(await page.evaluate<string>(order)).toBe('descending')
    await page.click('#tools th[data-column=calls] button')
    expect(await page.evaluate<string>(order)).toBe('ascending')
    await first(/^(?!send_mail)/)
    await page.click('#tools th[data-column=calls] button')
    expect(await page.evaluate<string>(order)).toBe('none')
    await first(/^archive_everything/)
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
    await page.reads('#numbers', /Injected errors\/s\s+0[^]*Client p95\s+\d+ ms/)
  })

  it('shows an error in the rules with its line, and that the old ones stay', async () => {
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
    await page.reads('#errors-rows', /no such row/)
    await page.screenshot(`${PICTURES}phone.png`)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(PHONE[0])
    expect(await page.evaluate<string[]>(TOO_WIDE)).toEqual([])
    await page.look(...PHONE, 'dark')
    await page.screenshot(`${PICTURES}phone-dark.png`)
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
    await page.reads('#changed', /Enter the admin token first/)
    await page.type('#token', `${TOKEN}x`)
    await page.click('#disarm')
    await page.reads('#changed', /Wrong admin token\. Nothing was changed/)
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
      // The page must not show counts of the previous process as those of this one.
      await page.reads('#tools-rows', /No completed calls yet/)
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

/** Checks that something is drawn on each canvas. */
const DRAWN = `[...document.querySelectorAll('canvas')].length === 2 &&
  [...document.querySelectorAll('canvas')].every((canvas) => canvas.getContext('2d')
    .getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0))`

/** Finds the elements that are cut off at the right. */
const TOO_WIDE = `[...document.querySelectorAll('header *, main *')]
  .filter((element) => element.closest('.hidden, .chart') === null)
  .filter((element) => element.getBoundingClientRect().right > innerWidth)
  .map((element) => element.outerHTML.slice(0, 100))`

// part: browser
import { connect } from 'node:net'
import { test } from 'vitest'
import { busy, eachInBrowser, open, page, PHONE, PICTURES } from './admin-page.ts'

eachInBrowser()

test('the admin page shows connections to dependencies, and which failed', async () => {
  await open()
  await page.reads('#destinations-rows', /127\.0\.0\.1:9(?:\s+0){6}/)
  connect(busy.squall.running.listeners[1]!.port, '127.0.0.1').on('error', () => undefined)
  await page.reads('#destinations-rows', /127\.0\.0\.1:9\s+0\s+0\s+1(?:\s+0){3}/)
  await page.evaluate(`document.querySelector('#destinations').scrollIntoView()`)
  await page.screenshot(`${PICTURES}destinations-light.png`)
  await page.look(...PHONE, 'dark')
  await page.evaluate(`document.querySelector('#destinations').scrollIntoView()`)
  await page.screenshot(`${PICTURES}destinations-phone.png`)
})

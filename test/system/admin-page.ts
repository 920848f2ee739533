import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { type Browser, type BrowserPage, startBrowser, startSquall } from '../support/commands.ts'
import type { BusySquall } from './busy-squall.ts'

export const PICTURES = fileURLToPath(new URL('../../build/admin-page/', import.meta.url))
export const WIDE = [1280, 900] as const
export const PHONE = [360, 740] as const

export let busy: BusySquall
export let page: BrowserPage

/** Gives each test a busy Squall and an empty tab; afterwards the tab must have no complaint. */
export function eachInBrowser(): void {
  let chromium: Browser

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
}

/** Opens the page and waits until it has shown something. */
export async function open(): Promise<void> {
  await page.open(`${busy.squall.admin}/`)
  await page.reads('#feed', /Live/)
}

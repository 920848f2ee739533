import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { DevTools, Fields } from '../../system/dev-tools.ts'
import { PATIENCE } from '../../system/patience.ts'
import { eventually } from '../eventually.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--no-default-browser-check',
  '--hide-scrollbars',
  '--remote-debugging-port=0',
]

/** A browser of its own, with an empty profile. */
export interface Browser {
  readonly tools: DevTools
  openTab(): Promise<BrowserPage>
  close(): Promise<void>
}

/** Starts a browser that nobody sees. */
export async function startBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'squall-chromium-'))
  const child = spawn(findChromium(), [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own: a browser is many processes.
    detached: true,
  })
  const ended = once(child, 'close')
  const stop = async (): Promise<void> => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Gone by itself.
    }
    await ended
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const { DevTools } = await import('../../system/dev-tools.ts')
    const tools = await DevTools.connect(await address(child.stderr))
    return {
      tools,
      openTab: () => openTab(tools),
      close: async () => {
        tools.close()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function findChromium(): string {
  const directories = (process.env['PATH'] ?? '').split(delimiter)
  const found = [
    process.env['SQUALL_CHROMIUM'] ?? '',
    ...NAMES.flatMap((name) => directories.map((directory) => join(directory, name))),
  ].find((path) => path !== '' && existsSync(path))
  if (found !== undefined) return found
  throw new Error(
    'Chromium is missing. On Debian: apt-get install chromium; elsewhere set SQUALL_CHROMIUM.',
  )
}

/** Where the browser says that it can be driven. */
function address(stderr: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => reject(new Error(`Chromium did not start: ${text}`)), PATIENCE)
    stderr.setEncoding('utf8')
    stderr.on('data', (part: string) => {
      text += part
      const found = /DevTools listening on (ws:\S+)/.exec(text)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    })
    stderr.on('end', () => {
      clearTimeout(timer)
      reject(new Error(`Chromium ended at once: ${text}`))
    })
  })
}

/** One tab, and everything that went wrong in it. */
export interface BrowserPage {
  /** The addresses of all that it asked for. */
  readonly requests: readonly string[]
  /** Errors and warnings of the console, exceptions of scripts, and violations of the policy. */
  readonly complaints: readonly string[]
  open(url: string): Promise<void>
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>
  /** The text of an element as it is shown; empty where there is none. */
  text(selector: string): Promise<string>
  /** Resolves when the text of an element matches. */
  reads(selector: string, pattern: RegExp): Promise<void>
  /** Types into a field as a person does. */
  type(selector: string, text: string): Promise<void>
  /** Presses a key that has a name. */
  press(key: string): Promise<void>
  click(selector: string): Promise<void>
  /** Width and height of the window, and how it is looked at. */
  look(width: number, height: number, scheme: 'dark' | 'light'): Promise<void>
  /** Looks at it as on paper of this size, until it is looked at otherwise. */
  paper(width: number, height: number): Promise<void>
  /** Saves a picture of the whole page, or of its top: as much as a window of this size shows. */
  screenshot(file: string, window?: readonly [width: number, height: number]): Promise<void>
  /** Drops complaints that a test is about. */
  forgive(pattern: RegExp): void
  close(): Promise<void>
}

async function openTab(tools: DevTools): Promise<BrowserPage> {
  const { targetId } = await tools.send('Target.createTarget', { url: 'about:blank' })
  const attached = await tools.send('Target.attachToTarget', { targetId, flatten: true })
  const session = attached['sessionId'] as string
  const send = (method: string, params: Fields = {}): Promise<Fields> =>
    tools.send(method, params, session)
  const requests: string[] = []
  const complaints: string[] = []
  watch(tools, session, requests, complaints)
  for (const domain of ['Page', 'Runtime', 'Network', 'Log', 'Audits']) {
    await send(`${domain}.enable`)
  }

  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return (result as { value: T }).value
  }
  const text = (selector: string): Promise<string> =>
    evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`)

  return {
    requests,
    complaints,
    forgive: (pattern) => {
      const left = complaints.filter((complaint) => !pattern.test(complaint))
      complaints.splice(0, complaints.length, ...left)
    },
    close: async () => void (await tools.send('Target.closeTarget', { targetId })),
    evaluate,
    text,
    open: async (url) => {
      await send('Page.navigate', { url })
      await eventually(async () => {
        const state = await evaluate<string>(
          `${JSON.stringify(url)} === location.href && document.readyState`,
        )
        return state === 'complete' ? undefined : `${url} is not loaded`
      }, PATIENCE)
    },
    reads: (selector, pattern) =>
      eventually(async () => {
        const now = await text(selector)
        return pattern.test(now) ? undefined : `${selector} reads "${now}", not ${pattern}`
      }, PATIENCE),
    type: async (selector, value) => {
      await evaluate(`document.querySelector(${JSON.stringify(selector)}).select()`)
      if (value === '') await press(send, 'Backspace')
      else await send('Input.insertText', { text: value })
    },
    press: (key) => press(send, key),
    click: async (selector) => {
      const [x, y] = await evaluate<[number, number]>(`(() => {
        const element = document.querySelector(${JSON.stringify(selector)})
        element.scrollIntoView({ block: 'center' })
        const { left, top, width, height } = element.getBoundingClientRect()
        return [left + width / 2, top + height / 2]
      })()`)
      for (const type of ['mousePressed', 'mouseReleased']) {
        await send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 })
      }
    },
    look: async (width, height, scheme) => {
      const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 500 }
      await send('Emulation.setDeviceMetricsOverride', metrics)
      const features = [{ name: 'prefers-color-scheme', value: scheme }]
      await send('Emulation.setEmulatedMedia', { features })
    },
    paper: async (width, height) => {
      const metrics = { width, height, deviceScaleFactor: 1, mobile: false }
      await send('Emulation.setDeviceMetricsOverride', metrics)
      const features = [{ name: 'prefers-color-scheme', value: 'dark' }]
      await send('Emulation.setEmulatedMedia', { media: 'print', features })
    },
    screenshot: async (file, window) => {
      const [width, height] = window ?? []
      const clip = window === undefined ? {} : { clip: { x: 0, y: 0, width, height, scale: 1 } }
      const shot = await send('Page.captureScreenshot', { captureBeyondViewport: true, ...clip })
      await writeFile(file, Buffer.from(shot['data'] as string, 'base64'))
    },
  }
}

async function press(send: (method: string, params: Fields) => Promise<Fields>, key: string) {
  const codes: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Backspace: 8 }
  const params = {
    key,
    code: key,
    windowsVirtualKeyCode: codes[key] ?? 0,
    ...(key === 'Enter' ? { text: '\r' } : {}),
  }
  await send('Input.dispatchKeyEvent', { type: 'keyDown', ...params })
  await send('Input.dispatchKeyEvent', { type: 'keyUp', ...params })
}

function watch(tools: DevTools, session: string, requests: string[], complaints: string[]): void {
  tools.onEvent((from, method, params) => {
    if (from !== session) return
    const reported = (): unknown => complaints.push(`${method}: ${JSON.stringify(params)}`)
    switch (method) {
      case 'Network.requestWillBeSent':
        requests.push((params['request'] as { url: string }).url)
        break
      case 'Runtime.consoleAPICalled':
        if (['error', 'warning', 'assert'].includes(String(params['type']))) reported()
        break
      case 'Log.entryAdded': {
        const { level } = params['entry'] as { level: string }
        if (level === 'error' || level === 'warning') reported()
        break
      }
      case 'Runtime.exceptionThrown':
      case 'Audits.issueAdded':
        reported()
        break
      default:
    }
  })
}

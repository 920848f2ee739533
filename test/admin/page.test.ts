import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'

const opened = closers()
const DIRECTORY = new URL('../../src/admin/page/', import.meta.url)
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

async function start() {
  return opened(await startSquall({ admin: {} }))
}

function get(url: string, accept = BROWSER): Promise<Response> {
  return fetch(url, { headers: { accept } })
}

/** Everything that the page loads, as paths. */
async function loaded(html: string): Promise<readonly string[]> {
  const paths = [...html.matchAll(/(?:src|href)="(page\/[^"]+)"/g)].map(([, path = '']) => path)
  const seen = new Set<string>()
  for (const path of paths) {
    if (seen.has(path)) continue
    seen.add(path)
    if (!path.endsWith('.js') || path.endsWith('uplot.js')) continue
    const text = await readFile(new URL(path.slice('page/'.length), DIRECTORY), 'utf8')
    for (const [, name] of text.matchAll(/from '\.\/([^']+)'/g)) paths.push(`page/${name}`)
  }
  return [...seen]
}

describe('the root of the admin port', () => {
  it('is a page for browsers and a list for everybody else', async () => {
    const { url } = await start()
    const page = await get(url)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await page.text()).toMatch(/^<!doctype html>/i)
    for (const accept of ['*/*', 'text/plain', 'application/json', 'text/html;q=0, */*']) {
      const list = await get(url, accept)
      expect(list.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(list.headers.get('vary')).toBe('accept')
      expect(await list.text()).toMatch(/^squall 1\.2\.3\n/)
    }
    expect(page.headers.get('vary')).toBe('accept')
  })

  it('answers HEAD as it would GET', async () => {
    const { url } = await start()
    const page = await get(url)
    const head = await fetch(url, { method: 'HEAD', headers: { accept: BROWSER } })
    for (const name of ['content-type', 'content-length', 'content-security-policy']) {
      expect(head.headers.get(name)).toBe(page.headers.get(name))
    }
  })

  it('does not list the parts of the page', async () => {
    const { url } = await start()
    expect(await (await get(url, '*/*')).text()).not.toContain('/page/')
    const { paths } = (await (await get(`${url}/nothing`)).json()) as { paths: string[] }
    expect(paths).toContain('/api/events')
    expect(paths.filter((path) => path.startsWith('/page/'))).toEqual([])
  })
})

describe('the page', () => {
  it('may load nothing but what this port serves, and run nothing inline', async () => {
    const { url } = await start()
    const answer = await get(url)
    const policy = (answer.headers.get('content-security-policy') ?? '').split('; ')
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]),
    )
    expect(policy.join()).not.toContain('unsafe')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it('has no inline script, style or handler, and no address of anywhere else', async () => {
    const { url } = await start()
    const html = await (await get(url)).text()
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i)
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/i)
    expect(html.match(/https?:\/\/[^'"]+/g)).toEqual(['http://www.w3.org/2000/svg'])
  })

  it('finds everything that it loads', async () => {
    const { url } = await start()
    const paths = await loaded(await (await get(url)).text())
    expect(paths.length).toBeGreaterThan(10)
    for (const path of paths) {
      const answer = await get(`${url}/${path}`)
      expect([path, answer.status]).toEqual([path, 200])
      const type = path.endsWith('.css') ? 'text/css' : 'text/javascript'
      expect(answer.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect((await answer.text()).length).toBeGreaterThan(100)
    }
  })

  it('has no file that is not served, and none that makes markup from text', async () => {
    const { url } = await start()
    for (const name of await readdir(DIRECTORY)) {
      const text = await readFile(new URL(name, DIRECTORY), 'utf8')
      expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b/)
      if (name === 'index.html') continue
      expect([name, (await get(`${url}/page/${name}`)).status]).toEqual([name, 200])
    }
  })

  it.each([
    '/page/',
    '/page',
    '/page/index.html',
    '/page/../server.ts',
    '/page/..%2fserver.ts',
    '/page/%2e%2e/server.ts',
    '/page/main.js/',
    '//page/main.js',
    '/page/MAIN.js',
    '/page/constructor',
  ])('gives nothing by the path %s', async (path) => {
    const { port } = await start()
    const { request } = await import('node:http')
    const status = await new Promise((resolve, reject) => {
      request({ port, host: '127.0.0.1', path, headers: { accept: BROWSER } }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(404)
  })
})

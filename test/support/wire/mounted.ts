import type { RequestListener } from 'node:http'

/** Redirects to the real path: by the whole URL, as Starlette does, or by the path alone. */
export type Redirect = (host: string, path: string) => { status: number; location: string }

/** As a Starlette mount answers. */
export const starlette: Redirect = (host, path) => ({
  status: 307,
  location: `http://${host}${path}`,
})

/** An upstream mounted at `/mcp/` that redirects every request for `/mcp` there. */
export function mounted(inner: RequestListener, redirect: Redirect = starlette): RequestListener {
  return (req, res) => {
    const url = req.url ?? ''
    if (!/^\/mcp(?=\?|$)/.test(url)) return inner(req, res)
    const to = redirect(req.headers.host ?? '', url.replace('/mcp', '/mcp/'))
    req.resume().once('end', () => {
      res.writeHead(to.status, { location: to.location, 'content-length': 0 }).end()
    })
  }
}

import { defineCommand } from '../flags/command.ts'
import { REDIRECT_FLAGS } from '../redirect/redirect-flags.ts'
import { parseRedirect } from '../redirect/redirect-options.ts'

/** `squall redirect`. */
export const REDIRECT = defineCommand({
  name: 'redirect',
  description: "send the traffic for the app's ports to squall run, by rules of nftables",
  flags: REDIRECT_FLAGS,
  note: `
Needs Linux, the program nft, and the capability NET_ADMIN. Rules are set for IPv4 and IPv6 at once,
and replace those of an earlier run. In a pod it runs before the app starts, in an init container.`,
  parse: (raw, env) => parseRedirect(raw, env),
  start: async (request) => {
    const { redirectCommand } = await import('../redirect/redirect.ts')
    return redirectCommand(request)
  },
})

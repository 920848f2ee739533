/** The word for the pod's own address, which is not known before it runs. */
export const POD_IP = 'pod-ip'

/** Says what to write instead of something that is no place within the pod. */
export function upstreamHost(value: string): string | undefined {
  return value === POD_IP || isLoopback(value)
    ? undefined
    : 'the app is in the same pod: use 127.0.0.1, ::1 or pod-ip'
}

/** True for loopback addresses, which other pods cannot reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || isLoopbackV4(host)
}

function isLoopbackV4(host: string): boolean {
  const parts = host.split('.')
  return (
    parts.length === 4 &&
    parts[0] === '127' &&
    parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
  )
}

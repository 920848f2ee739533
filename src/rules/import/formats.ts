/** The formats that can be converted, in the order in which documents are recognized. */
export const FORMATS = [
  'chaos-monkey',
  'mcp-chaos',
  'istio',
  'envoy-gateway',
  'kgateway',
  'chaos-mesh',
  'kuma',
  'toxiproxy',
  'envoy',
] as const

export type Format = (typeof FORMATS)[number]

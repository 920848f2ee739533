import type { AddressRange, ListenAddress } from '../../http/address.ts'

/** A dependency as it is configured. */
export interface Target {
  /** As written, such as `db:5432`: the label in metrics. */
  readonly text: string
  /** A name or an address, without the prefix of a range; `*` for every host. */
  readonly host: string
  readonly port: number
  /** The addresses of a target without a name. */
  readonly range?: AddressRange | undefined
  /** True for captured connections that are read as HTTP. */
  readonly isHttp?: boolean
}

/** A listener for outgoing TCP connections. */
export interface OutboundRoute {
  readonly listen: ListenAddress
  /** Several only for connections that the kernel redirects. */
  readonly targets: readonly [Target, ...Target[]]
  /**
   * True for connections that the kernel redirects: their remote address is the one that they were
   * made to.
   */
  readonly isCaptured: boolean
}

/** The TLS settings for the API server. */
export interface ClusterTls {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly servername?: string | undefined
  readonly insecure: boolean
}

/** The credentials of requests. */
export interface Credentials {
  readonly token?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** Where credentials come from, again and again: some of them expire. */
export interface CredentialSource {
  /** `refused` is true when what was had before was not accepted. */
  get(refused: boolean): Promise<Credentials>
}

/** Everything that is needed to speak to one cluster. */
export interface ClusterAccess {
  readonly server: URL
  readonly tls: ClusterTls
  readonly credentials: CredentialSource
  /** Where things are looked for when nobody says otherwise. */
  readonly namespace: string
  /** The name in messages. */
  readonly name: string
}

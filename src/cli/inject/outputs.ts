/** Where the result and what is said about it go. */
export interface Outputs {
  /** Ends when the text is out: the process ends soon after, and a pipe may be slow. */
  readonly write: (text: string) => Promise<void>
  readonly tell: (text: string) => Promise<void>
}

/** The outputs of the process. */
export const STANDARD: Outputs = {
  write: (text) => written(process.stdout, text),
  tell: (text) => written(process.stderr, text),
}

function written(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      // The reader closed the pipe, as `head` does.
      if (error.code === 'EPIPE') resolve()
      else reject(error)
    }
    stream.once('error', failed)
    stream.write(text, (error) => {
      if (error === null || error === undefined) resolve()
      else failed(error)
    })
  })
}

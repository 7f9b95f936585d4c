import Glibc

/// The commands that a child process receives from the harness on standard input, one word per line.
struct CommandReader {
    private let parent = getppid()
    private var unread: [UInt8] = []
    /// The commands received so far.
    private(set) var received: Set<String> = []

    init() {
        _ = fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK)
    }

    /// Whether the command was received, or the harness has ended.
    mutating func contains(_ word: String) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count > 0 { unread += buffer[..<count] }
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            received.insert(String(decoding: unread[..<end], as: UTF8.self))
            unread.removeFirst(end + 1)
        }
        return received.contains(word) || count == 0 || getppid() != parent
    }

    mutating func wait(for word: String) {
        while !contains(word) {
            var entry = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            poll(&entry, 1, 1000)
        }
    }
}

import CGNU
import Glibc
import SystemPackage

/// A payload as the standard input of a command. If the command does not read it, notifyctl does not block.
enum PayloadFile {
    /// The number of bytes that every pipe can hold: one page, even if the user has reached the limit of pipe buffers.
    private static let pipeCapacity = 4096

    /// Opens a file with the payload, at its beginning. The caller closes it.
    static func open(_ payload: UnsafeRawBufferPointer) throws(Errno) -> FileDescriptor {
        // A pipe takes half the time of a file in memory.
        if payload.count <= pipeCapacity, let pipe = pipe(payload) { return pipe }
        let raw = memfd_create("payload", notifyctl_MFD_CLOEXEC)
        guard raw >= 0 else { throw Errno(rawValue: errno) }
        let file = FileDescriptor(rawValue: raw)
        do {
            try file.writeAll(payload)
            try file.seek(offset: 0, from: FileDescriptor.SeekOrigin.start)
            return file
        } catch {
            try? file.close()
            throw error as? Errno ?? Errno(rawValue: EIO)
        }
    }

    /// A pipe that contains the payload, without a writer; nil if no pipe can be created.
    private static func pipe(_ payload: UnsafeRawBufferPointer) -> FileDescriptor? {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { return nil }
        defer { close(ends[1]) }
        guard write(ends[1], payload.baseAddress, payload.count) == payload.count else {
            close(ends[0])
            return nil
        }
        return FileDescriptor(rawValue: ends[0])
    }
}

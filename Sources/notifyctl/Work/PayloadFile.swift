import CGNU
import Glibc
import SystemPackage

/// A payload as a file in memory, for the standard input of a command. A command that does not read it blocks nothing.
enum PayloadFile {
    /// Opens a file with the payload, at its beginning. The caller closes it.
    static func open(_ payload: UnsafeRawBufferPointer) throws(Errno) -> FileDescriptor {
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
}

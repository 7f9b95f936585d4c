import Glibc
import Testing

@testable import notifyctl

@Suite struct ProgramTests {
    @Test func `a program inherits standard descriptors alone`() async throws {
        let inheritable = open("/dev/null", O_RDONLY)
        defer { close(inheritable) }
        let result = try await Program.run(["ls", "/proc/self/fd"])
        // The fourth descriptor is that of the folder that `ls` reads.
        #expect(result.output == "0\n1\n2\n3\n")
        #expect(result.status == 0)
    }
}

import Glibc
import SystemPackage
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

    @Test func `the output of a program includes its errors`() async throws {
        let result = try await Program.run(["sh", "-c", "echo output; echo error >&2; exit 3"])
        #expect(result.output == "output\nerror\n")
        #expect(result.status == 3)
    }

    @Test func `the status of a program that a signal has ended is -1`() async throws {
        #expect(try await Program.run(["sh", "-c", "kill -KILL $$"]).status == -1)
    }

    @Test func `a program is in the process group of notifyctl, so that Ctrl-C ends both`() async throws {
        // The fifth field is the process group.
        #expect(try await Program.run(["cut", "-d", " ", "-f", "5", "/proc/self/stat"]).output == "\(getpgrp())\n")
    }

    @Test func `a program that does not exist is an error`() async throws {
        await #expect(throws: Errno.noSuchFileOrDirectory) { try await Program.run(["notifyctl-nonexistent"]) }
    }
}

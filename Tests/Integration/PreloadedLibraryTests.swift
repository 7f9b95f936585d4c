import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The programs with a preloaded library whose constructor sets an environment variable, as in some profilers and
    /// libfaketime. Swift's runtime then finds no arguments.
    @Suite struct PreloadedLibraryTests {
        private let folder: TemporaryFolder
        private let environment: [String: String?]

        init() async throws {
            folder = try TemporaryFolder()
            let source = try folder.write(
                """
                #include <stdlib.h>
                __attribute__((constructor)) static void set(void) { setenv("SET_BY_A_LIBRARY", "1", 1); }
                """, to: "set.c")
            let library = folder.file("set.so")
            let compiler = try ChildProcess("/usr/bin/env", ["clang", "-shared", "-fPIC", "-o", library, source])
            try #require(try await compiler.waitForExit() == .status(0))
            environment = ["LD_PRELOAD": library]
        }

        @Test func `notifyctl finds its arguments`() async throws {
            let daemon = try await Daemon.start()
            var notifyctl = Notifyctl(daemon)
            notifyctl.environment = environment
            let posted = try await notifyctl.run("post", "preloaded.a", "")
            #expect(posted.status == .status(0))
            expectText(posted.output, "posted preloaded.a")
            let wrong = try await notifyctl.run("durable", "show", "--nonsense")
            #expect(wrong.status == .status(64))
            expectText(wrong.errors, "(see 'notifyctl durable show --help')")
        }

        @Test func `notifyd finds its arguments`() async throws {
            let version = try ChildProcess(Programs.notifyd, ["--version"], environment: environment)
            #expect(try await version.waitForExit() == .status(0))
            let output = try await version.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
            #expect(output.text == "\(notifydVersion)\n")
            let daemon = try await Daemon.start(environment: environment)
            #expect(try await Notifyctl(daemon).run("ping").status == .status(0))
            try await daemon.stop()
        }
    }
}

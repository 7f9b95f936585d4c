import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import notifyctl

@Suite struct ProgramFileTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["first", "second"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        try create("second/program", mode: 0o700)
        try create("text", mode: 0o600)
    }

    private func create(_ name: String, mode: mode_t) throws {
        #expect(chmod(try folder.write("#!/bin/sh", to: name), mode) == 0)
    }

    private var searchPath: String { "\(folder.file("first")):second::\(folder.file("second"))" }

    @Test func `a program is taken from the first folder that has it`() throws {
        #expect(try ProgramFile.find("program", in: searchPath) == folder.file("second/program"))
        try create("first/program", mode: 0o700)
        #expect(try ProgramFile.find("program", in: searchPath) == folder.file("first/program"))
    }

    @Test func `files that can't be run, and folders, are skipped`() throws {
        try create("first/program", mode: 0o600)
        #expect(try ProgramFile.find("program", in: searchPath) == folder.file("second/program"))
        #expect(throws: Errno.noSuchFileOrDirectory) { try ProgramFile.find("second", in: folder.path) }
    }

    @Test(arguments: ["", "relative", ":"])
    func `a search path without absolute folders has no program`(searchPath: String) {
        #expect(throws: Errno.noSuchFileOrDirectory) { try ProgramFile.find("sh", in: searchPath) }
    }

    @Test func `a path is used without a search in folders`() throws {
        #expect(try ProgramFile.find(folder.file("second/program"), in: "") == folder.file("second/program"))
        #expect(throws: Errno.permissionDenied) { try ProgramFile.find(folder.file("text"), in: "") }
        #expect(throws: Errno.noSuchFileOrDirectory) { try ProgramFile.find("./nonexistent", in: searchPath) }
        #expect(throws: Errno.isDirectory) { try ProgramFile.find(folder.path, in: searchPath) }
    }
}

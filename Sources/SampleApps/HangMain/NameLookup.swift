// SPDX-License-Identifier: Apache-2.0

import Glibc

@inline(never)
func refreshAvatars() {
    let avatars = downloadAvatar()
    print("HangMain: \(avatars) avatars")
}

@inline(never)
func downloadAvatar() -> Int {
    SilentResolver.use()
    let addresses = resolveHost()
    return addresses * 2
}

@inline(never)
func resolveHost() -> Int {
    var result: UnsafeMutablePointer<addrinfo>?
    var failures = 0
    // The resolver gives up on a silent name server after some minutes, so this repeats the lookup.
    while getaddrinfo("avatars.example.com", "443", nil, &result) == EAI_AGAIN {
        failures += 1
    }
    let message = "HangMain: the host was looked up without asking a name server, see hosts in nsswitch.conf(5)\n"
    write(STDERR_FILENO, message, message.utf8.count)
    exit(71)
}

/// A silent name server on the loopback, for the calling thread.
private enum SilentResolver {
    private typealias Initialize = @convention(c) () -> Int32
    private typealias State = @convention(c) () -> UnsafeMutableRawPointer

    /// Points glibc's resolver at a socket that no process reads.
    ///
    /// The resolver's state is `struct __res_state` of <resolv.h>, which the Glibc module does not export. Its first
    /// fields are part of the ABI of 64-bit Linux: int retrans, int retry, unsigned long options, int nscount, struct
    /// sockaddr_in nsaddr_list[3]. getaddrinfo(3) respects changes to it.
    static func use() {
        guard let initialize = dlsym(nil, "__res_init"), let state = dlsym(nil, "__res_state") else {
            errno = ENOSYS
            giveUp("this C library has no __res_state")
        }
        guard unsafeBitCast(initialize, to: Initialize.self)() == 0 else { giveUp("cannot set up the resolver") }
        let resolver = unsafeBitCast(state, to: State.self)()
        let server = boundSocket(SOCK_DGRAM)
        resolver.storeBytes(of: 30, toByteOffset: 0, as: Int32.self)
        resolver.storeBytes(of: 5, toByteOffset: 4, as: Int32.self)
        resolver.storeBytes(of: 1, toByteOffset: 16, as: Int32.self)
        withLoopback(port(of: server)) { address, length in
            (resolver + 20).copyMemory(from: address, byteCount: Int(length))
        }
    }
}

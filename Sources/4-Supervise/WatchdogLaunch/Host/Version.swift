// SPDX-License-Identifier: Apache-2.0

/// The version of watchdogd, following semver.org.
public let watchdogdVersion = "0.1.0"
